import { readFileSync } from 'node:fs';

/** One line of `tickets.jsonl`. `agent` is who should get it, for the accuracy; nobody routes by it. */
export interface DeskTicket {
  id: string;
  lang: string;
  text: string;
  agent?: string;
  has_photo?: boolean;
  user_tone?: string;
}

/** Reads JSON Lines; blank lines are skipped. Throws with file and line of what is no ticket. */
export function readTickets(file: string): DeskTicket[] {
  const tickets = readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [parseTicket(line, `${file}:${index + 1}`)]));
  if (tickets.length === 0) throw new Error(`${file} has no tickets; write one JSON object a line`);
  return tickets;
}

function parseTicket(line: string, where: string): DeskTicket {
  let ticket: Partial<DeskTicket> | null;
  try {
    ticket = JSON.parse(line) as Partial<DeskTicket> | null;
  } catch {
    throw new Error(`${where} is not JSON`);
  }
  const missing = (['id', 'lang', 'text'] as const).filter(
    (key) => typeof ticket?.[key] !== 'string' || ticket[key] === '',
  );
  if (missing.length > 0) throw new Error(`${where} lacks ${missing.join(', ')}`);
  return ticket as DeskTicket;
}

/** The payload of `ticket_disposition`. */
export function payloadOf({ id, text, has_photo, user_tone }: DeskTicket) {
  return {
    ticket_id: id,
    user_message: text,
    ...(has_photo !== undefined && { has_photo }),
    ...(user_tone !== undefined && { user_tone }),
  };
}

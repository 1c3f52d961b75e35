/** Most of one value that a terminal is shown, characters: what is longer scrolls away whatever somebody wanted to see. */
const MAX_SHOWN = 65_536;

/** The beginning of a text, and how much more there is. */
export function clipped(text: string, most = MAX_SHOWN): string {
  if (text.length <= most) return text;
  // Not between the halves of a surrogate pair.
  const end = /[\ud800-\udbff]/.test(text[most - 1]!) ? most - 1 : most;
  return `${text.slice(0, end)}…\n(${text.length - end} more characters; --json, or a file in place of the terminal, gets all of it)`;
}

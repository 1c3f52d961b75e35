import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AFTERSALE_RULES } from './aftersale';
import { decide, languageOf, type RuleTable, type Ticket } from './decide';
import { PRODUCT_QA_RULES } from './product-qa';
import { REFUND_RULES } from './refund';
import { SOOTHING_RULES } from './soothing';

const TABLES = {
  aftersale: AFTERSALE_RULES,
  refund: REFUND_RULES,
  product_qa: PRODUCT_QA_RULES,
  soothing: SOOTHING_RULES,
};

const ask = (table: RuleTable, user_message: string, more: Partial<Ticket> = {}) =>
  decide(table, { ticket_id: 'T', user_message, ...more });

describe('what a ticket leads to', () => {
  it.each<[keyof typeof TABLES, string, string]>([
    ['aftersale', '快递把箱子压扁了', 'ask_photo'],
    ['aftersale', 'The plate arrived damaged', 'ask_photo'],
    ['aftersale', "There was somebody else's order in my box", 'ask_photo'],
    ['aftersale', '赠品漏发了', 'check_shipment'],
    ['aftersale', 'The drill stopped working', 'check_warranty'],
    ['aftersale', '退回去的运费谁出', 'explain_policy'],
    ['aftersale', 'The shoes are too small, I want to swap them', 'create_return'],
    ['aftersale', '你好', 'escalate_human'],
    ['refund', '同一单扣了我两次钱', 'check_payment'],
    ['refund', 'Only part of it came back', 'check_amount'],
    ['refund', '退到余额里还是银行卡', 'confirm_account'],
    ['refund', 'Can this go any faster?', 'expedite_refund'],
    ['refund', 'What is the status of my refund?', 'check_refund'],
    ['refund', 'Hello', 'escalate_human'],
    ['product_qa', '四十二码还有现货吗', 'lookup_stock'],
    ['product_qa', 'How much is the lamp?', 'lookup_price'],
    ['product_qa', 'Will this lens fit my camera?', 'lookup_specs'],
    ['product_qa', '台灯怎么调', 'send_manual'],
    ['product_qa', '你好', 'ask_details'],
    ['soothing', '再这样我就去消协举报', 'escalate_human'],
    ['soothing', 'I just want to cry', 'call_back'],
    ['soothing', '打了十几个电话都没人接', 'call_back'],
    ['soothing', 'This is the worst shop ever', 'apologise'],
    ['soothing', 'Well', 'listen'],
  ])('%s: %s → %s', (table, message, nextStep) => {
    expect(ask(TABLES[table], message).next_step).toBe(nextStep);
  });
});

describe('an answer', () => {
  it('is in the language of the ticket and names the rule with the words that matched', () => {
    expect(ask(AFTERSALE_RULES, '杯子裂了').answer).toMatch(/照片.*（规则“商品破损”，因为您提到“裂”）$/);
    expect(ask(AFTERSALE_RULES, 'A cracked cup').answer).toMatch(
      /photo.* \(rule "damaged goods", because you wrote "cracked"\)$/,
    );
  });

  it('admits that no rule matched', () => {
    expect(ask(REFUND_RULES, 'Hello')).toMatchObject({
      confidence: 0.3,
      answer: expect.stringContaining('no rule matched') as string,
    });
  });

  it('is less sure when several rules fit, and the first one decides', () => {
    expect(ask(REFUND_RULES, 'charged twice')).toMatchObject({ confidence: 0.9, next_step: 'check_payment' });
    expect(ask(REFUND_RULES, 'charged twice, what is the status?')).toMatchObject({
      confidence: 0.75,
      next_step: 'check_payment',
    });
  });

  it('is the same every time', () => {
    for (const table of Object.values(TABLES))
      expect(ask(table, '退款 refund 坏了')).toEqual(ask(table, '退款 refund 坏了'));
  });
});

describe('a photo', () => {
  it('settles liability for what can be seen', () => {
    expect(ask(AFTERSALE_RULES, '杯子裂了', { has_photo: true }).next_step).toBe('create_exchange');
    expect(ask(AFTERSALE_RULES, '杯子裂了', { has_photo: false }).next_step).toBe('ask_photo');
  });

  it('is mentioned to an upset customer, and handed on where nobody can read it', () => {
    expect(ask(SOOTHING_RULES, 'I am furious', { has_photo: true }).answer).toContain('photo');
    expect(ask(PRODUCT_QA_RULES, 'This', { has_photo: true }).next_step).toBe('escalate_human');
  });
});

describe('the tone', () => {
  it('puts an apology first and an upset customer’s refund ahead', () => {
    expect(ask(REFUND_RULES, '退款进度', { user_tone: 'angry' })).toMatchObject({
      answer: expect.stringMatching(/^非常抱歉/) as string,
      next_step: 'expedite_refund',
    });
    expect(ask(REFUND_RULES, '退款进度', { user_tone: 'calm' }).next_step).toBe('check_refund');
  });

  it('tells the soothing agent to apologise although no rule matches', () => {
    expect(ask(SOOTHING_RULES, 'Well', { user_tone: 'sad' }).next_step).toBe('apologise');
  });
});

it('tells Chinese from English, mixed texts included', () => {
  expect(['退款', '我的 iPhone 呢', 'refund', '…'].map(languageOf)).toEqual(['zh', 'zh', 'en', 'en']);
});

it('has an answer of its own for nearly all the tickets of the demo', () => {
  const lines = readFileSync(join(__dirname, '..', 'tickets.jsonl'), 'utf8')
    .trim()
    .split('\n');
  const tickets = lines.map((line) => JSON.parse(line) as { text: string; agent: string });
  const unmatched = tickets.filter(({ text, agent }) => {
    const table = TABLES[agent.replace(/_agent$/, '') as keyof typeof TABLES];
    return ask(table, text).confidence === 0.3;
  });
  expect(unmatched.length).toBeLessThanOrEqual(tickets.length * 0.1);
});

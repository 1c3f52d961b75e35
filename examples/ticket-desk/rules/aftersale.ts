import { kindly, type Rule, type RuleTable, type Text, type Ticket } from './decide';

const ASK_PHOTO: Text = {
  zh: '请补一张能看清问题的照片，收到后马上判定责任。',
  en: 'Please send a photo that shows the problem; we decide on liability as soon as it is here.',
};

/** Faults that can be seen need a picture before anybody is held liable. */
function withPhoto(answer: Text, nextStep: string): Rule['then'] {
  return (ticket: Ticket) =>
    ticket.has_photo
      ? { answer: kindly(ticket, answer), nextStep }
      : { answer: kindly(ticket, ASK_PHOTO), nextStep: 'ask_photo' };
}

function always(answer: Text, nextStep: string): Rule['then'] {
  return (ticket) => ({ answer: kindly(ticket, answer), nextStep });
}

/** After-sales liability: who answers for it, and what happens to the goods. */
export const AFTERSALE_RULES: RuleTable = {
  rules: [
    {
      name: { zh: '商品破损', en: 'damaged goods' },
      when: /裂|碎|破损|压扁|断了|\b(damaged?|broken?|crack(ed)?|chipped|soaked|ruined|shattered)\b/i,
      then: withPhoto(
        {
          zh: '照片显示是破损，由我们承担，换新并付来回运费。',
          en: 'The damage is on us: we replace it and pay postage both ways.',
        },
        'create_exchange',
      ),
    },
    {
      name: { zh: '发错商品', en: 'wrong goods' },
      when: /发错|送错|对不上|不是我(买|要)的|\b(wrong|somebody else's|(you|they) (sent|shipped))\b/i,
      then: withPhoto(
        { zh: '发错货由我们负责，取回并补发正确的商品。', en: 'Our mistake: we collect it and send the right one.' },
        'create_exchange',
      ),
    },
    {
      name: { zh: '少件漏发', en: 'missing goods' },
      when: /少了|少发|漏发|缺了|没有放进|\b(missing|never turned up|(was|were) not in the (box|package)|half of the)\b/i,
      then: always(
        { zh: '我们先核对出库称重，确认少件后补发。', en: 'We check the weight at dispatch and send what is missing.' },
        'check_shipment',
      ),
    },
    {
      name: { zh: '质量问题', en: 'faulty goods' },
      when: /没反应|不亮|坏了|起球|开线|质量|保修|\b(stopped working|faulty|defect(ive)?|warranty|repair)\b/i,
      then: always(
        {
          zh: '质量问题由商家负责：保修期内换新或维修，运费我们付。',
          en: 'A fault within the warranty is ours: repair or replacement, postage paid.',
        },
        'check_warranty',
      ),
    },
    {
      name: { zh: '退货运费', en: 'return postage' },
      when: /运费|邮费|快递费|\b(postage|who pays|cost of (posting|sending)|shipping (fee|cost))\b/i,
      then: always(
        {
          zh: '商品有问题运费我们付；不喜欢或尺码不合由您承担。',
          en: 'We pay when the goods are at fault; for a change of mind or a wrong size the buyer does.',
        },
        'explain_policy',
      ),
    },
    {
      name: { zh: '退换货', en: 'return or exchange' },
      when: /退货|换货|七天|不喜欢|吊牌|拆封|买(小|大)了|[能可].*退|给退|\b(return|exchange|swap|does(n't| not) fit|too (big|small|tight))\b/i,
      then: always(
        {
          zh: '签收七天内、不影响二次销售即可退换，已为您建好退货单。',
          en: 'Within seven days and fit for resale it can go back; a return is open for you.',
        },
        'create_return',
      ),
    },
  ],
  otherwise: always(
    { zh: '这个责任我判断不了，转给售后同事。', en: 'I cannot tell who is liable here; a colleague takes over.' },
    'escalate_human',
  ),
};

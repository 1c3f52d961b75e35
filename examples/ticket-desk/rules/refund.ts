import { isUpset, kindly, type Rule, type RuleTable, type Text } from './decide';

/** An upset customer does not wait in the ordinary queue. */
function orExpedite(answer: Text, nextStep: string): Rule['then'] {
  return (ticket) => ({ answer: kindly(ticket, answer), nextStep: isUpset(ticket) ? 'expedite_refund' : nextStep });
}

/** Refunds: where the money is, and how to move it along. */
export const REFUND_RULES: RuleTable = {
  rules: [
    {
      name: { zh: '重复扣款', en: 'double charge' },
      when: /两次|重复扣|多扣|多付|\b(charged (me )?twice|(second|double) (payment|charge)|paid twice)\b/i,
      then: orExpedite(
        {
          zh: '核对支付流水后，多扣的一笔原路退回。',
          en: 'We check the payments; the second one goes back the way it came.',
        },
        'check_payment',
      ),
    },
    {
      name: { zh: '退款金额', en: 'refunded amount' },
      when: /金额|少退|少了|手续费|利息|优惠券|\b(only part|less than|(shipping )?fee|amount|interest)\b/i,
      then: orExpedite(
        {
          zh: '我们逐项核对应退金额，差额补退。',
          en: 'We compare what was due with what was paid and refund the difference.',
        },
        'check_amount',
      ),
    },
    {
      name: { zh: '退款去向', en: 'where it goes' },
      when: /注销|退到|原路|余额|去哪|哪儿|\b(credit card|store credit|bank account|where)\b/i,
      then: orExpedite(
        {
          zh: '退款原路返回；原账户已注销的，请提供新的收款账户。',
          en: 'It goes back the way it was paid; if that account is closed, please name another.',
        },
        'confirm_account',
      ),
    },
    {
      name: { zh: '催促退款', en: 'speed it up' },
      when: /催|尽快|快点|太慢|加急|\b(faster|push|speed|hurry|urgent(ly)?|before the weekend)\b/i,
      then: (ticket) => ({
        answer: kindly(ticket, {
          zh: '已加急到财务，二十四小时内处理。',
          en: 'Marked urgent; finance handles it within 24 hours.',
        }),
        nextStep: 'expedite_refund',
      }),
    },
    {
      name: { zh: '退款进度', en: 'progress' },
      when: /进度|到账|没(收|看)到|还没|几天|多久|工作日|退款|\b(status|when|how (long|many days)|weeks?|refund(ed)?|still (empty|waiting)|credited|reimburse(d|ment)?)\b/i,
      then: orExpedite(
        {
          zh: '退款一般三到五个工作日到账，我现在查这一笔。',
          en: 'Refunds take three to five working days; I am looking yours up.',
        },
        'check_refund',
      ),
    },
  ],
  otherwise: (ticket) => ({
    answer: kindly(ticket, {
      zh: '这笔退款我查不到规则，转给财务同事。',
      en: 'I have no rule for this payment; finance takes over.',
    }),
    nextStep: 'escalate_human',
  }),
};

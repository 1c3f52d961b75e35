import { isUpset, type Rule, type RuleTable, type Text } from './decide';

/** A photo is evidence that somebody has to look at: say that it was seen. */
function soothe(answer: Text, nextStep: string): Rule['then'] {
  return ({ has_photo }) => ({
    answer: has_photo
      ? { zh: `${answer.zh}您的照片已附在工单上。`, en: `${answer.en} Your photo is attached to the case.` }
      : answer,
    nextStep,
  });
}

/** Calming: hear the customer first; whoever threatens or grieves gets a person. */
export const SOOTHING_RULES: RuleTable = {
  rules: [
    {
      name: { zh: '威胁投诉', en: 'threat' },
      when: /消协|举报|投诉|曝光|律师|\b(lawyer|report you|court|tell everybody|consumer)\b/i,
      then: soothe(
        {
          zh: '您说得对，这事不该这样。主管现在就联系您。',
          en: 'You have every right to. A manager is calling you now.',
        },
        'escalate_human',
      ),
    },
    {
      name: { zh: '伤心委屈', en: 'hurt' },
      when: /难受|委屈|心.{0,2}凉|气哭|哭了|\b(cry|funeral|heartbroken|humiliated|let me down|hurt|wits' end|can't take)\b/i,
      then: soothe(
        {
          zh: '让您受委屈了，真的对不起。我在听，请慢慢说。',
          en: 'I am so sorry that you had to go through this. I am listening.',
        },
        'call_back',
      ),
    },
    {
      name: { zh: '无人理会', en: 'ignored' },
      when: /没人|有没有人|敷衍|推来推去|[百多]遍|\b(ignor(e|ed|ing)|on hold|hung up|nobody|copy-paste|no one)\b/i,
      then: soothe(
        {
          zh: '让您反复跑，是我们不对。由我跟到底，今天给您回电。',
          en: 'You should not have had to ask again. I stay on this and call you back today.',
        },
        'call_back',
      ),
    },
    {
      name: { zh: '愤怒', en: 'anger' },
      when: /气死|气疯|受够|垃圾|太差|良心|耍|骗|\b(angry|livid|furious|worst|disgrace|asham(ed|e)|shame|lies|unbelievable|enough)\b/i,
      then: soothe(
        {
          zh: '真的很抱歉，让您这么生气是我们的错。',
          en: 'I am truly sorry; you have every reason to be angry with us.',
        },
        'apologise',
      ),
    },
  ],
  otherwise: (ticket) =>
    isUpset(ticket)
      ? soothe(
          {
            zh: '看得出来您很不好受，对不起。请告诉我发生了什么。',
            en: 'I can tell that this has upset you, and I am sorry. Please tell me what happened.',
          },
          'apologise',
        )(ticket)
      : soothe(
          { zh: '我在听，请告诉我发生了什么。', en: 'I am listening; please tell me what happened.' },
          'listen',
        )(ticket),
};

import { kindly, type Rule, type RuleTable, type Text } from './decide';

function lookUp(answer: Text, nextStep: string): Rule['then'] {
  return (ticket) => ({ answer: kindly(ticket, answer), nextStep });
}

/** Product questions. The rules know which page has the answer, not the answer: there is no catalogue behind this example. */
export const PRODUCT_QA_RULES: RuleTable = {
  rules: [
    {
      name: { zh: '库存', en: 'stock' },
      when: /现货|有货|库存|还有没有|有没有.{0,6}色|\b(in stock|available|sold out)\b/i,
      then: lookUp(
        {
          zh: '库存以商品页的颜色与尺码选项为准，我来查。',
          en: 'Stock is shown per colour and size on the product page; looking it up.',
        },
        'lookup_stock',
      ),
    },
    {
      name: { zh: '价格', en: 'price' },
      when: /多少钱|价格|活动价|打折|几折|\b(price|discount|how much (is|does|for)|cheaper)\b/i,
      then: lookUp(
        { zh: '价格与活动以商品页为准，我来查。', en: 'Price and offers are on the product page; looking them up.' },
        'lookup_price',
      ),
    },
    {
      name: { zh: '兼容性', en: 'compatibility' },
      when: /兼容|适配|能.{0,4}(带上|用于|放得下|连)|放得下|\b(work with|compatible|fit my|android|iphone)\b/i,
      then: lookUp(
        { zh: '适用范围写在规格表里，我来查。', en: 'What it works with is in the specification; looking it up.' },
        'lookup_specs',
      ),
    },
    {
      name: { zh: '使用方法', en: 'how to use' },
      when: /怎么|第一次用|如何|开封后|放冰箱|\b(how (do|can|should) i|reset|first use|instructions?)\b/i,
      then: lookUp(
        { zh: '说明书里有步骤，我把那一页发给您。', en: 'The manual has the steps; I am sending you the page.' },
        'send_manual',
      ),
    },
    {
      name: { zh: '材质与成分', en: 'material and ingredients' },
      when: /面料|材质|成分|机洗|敏感|防水|\b(fabric|material|gluten|ingredients?|waterproof|washing)\b/i,
      then: lookUp(
        {
          zh: '材质与成分写在规格表里，我来查。',
          en: 'Material and ingredients are in the specification; looking them up.',
        },
        'lookup_specs',
      ),
    },
    {
      name: { zh: '规格', en: 'specification' },
      when: /尺寸|多大|多重|几档|寸|码|功率|\b(size|how (tall|long|heavy|many|wide)|watts?|weight|battery)\b/i,
      then: lookUp(
        {
          zh: '尺寸、续航等参数写在规格表里，我来查。',
          en: 'Size, battery and the like are in the specification; looking them up.',
        },
        'lookup_specs',
      ),
    },
  ],
  otherwise: (ticket) =>
    ticket.has_photo
      ? {
          answer: {
            zh: '我看不懂图片，连同照片转给同事。',
            en: 'I cannot read pictures; a colleague gets your photo and question.',
          },
          nextStep: 'escalate_human',
        }
      : {
          answer: {
            zh: '请说一下是哪件商品、想了解哪一点。',
            en: 'Which product is it, and what would you like to know?',
          },
          nextStep: 'ask_details',
        },
};

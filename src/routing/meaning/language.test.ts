import { foldText, scriptOf } from './language';

test.each([
  ['退款什么时候到账', 'han'],
  ['iPhone 充电器支持多少瓦快充', 'han'],
  ['Where is my refund?', 'latin'],
  ['Das Wort 退 steht hier in einem deutschen Satz', 'latin'],
  ['返金はいつですか', 'kana'],
  ['환불은 언제 되나요', 'hangul'],
  ['Где мои деньги?', 'cyrillic'],
  ['أين أموالي', 'arabic'],
  ['12345 !?', 'other'],
  ['', 'other'],
])('%j is %s', (text, script) => {
  expect(scriptOf(text)).toBe(script);
});

test('full-width forms and white space are folded', () => {
  expect(foldText('  Ｉｓ　ｉｔ\n waterproof？ ')).toBe('Is it waterproof?');
});

import { transformSync } from '@swc/core';
import { renderCatalogue } from './catalogue';

const ability = (name: string, description = '') => ({ name, description, agents: [] });

/** The module's exports, compiled as TypeScript and run. */
function load(source: string): { ABILITIES: Record<string, string> } {
  const { code } = transformSync(source, { jsc: { parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } });
  const exports = {};
  new Function('exports', code)(exports);
  return exports as { ABILITIES: Record<string, string> };
}

it('is a TypeScript module that holds every name as it is', () => {
  const names = ['intent_classify', 'intent-classify', '意图.识别', '3d_render', '---', 'a"b\\'];
  const { ABILITIES } = load(renderCatalogue(names.map((name) => ability(name, 'ends */ early\nor not'))));
  expect(Object.values(ABILITIES)).toEqual(names);
  expect(Object.keys(ABILITIES)).toEqual([
    'INTENT_CLASSIFY',
    'INTENT_CLASSIFY_2',
    '意图_识别',
    '_3D_RENDER',
    '_',
    'A_B_',
  ]);
});

it('is a module without abilities too', () => {
  expect(load(renderCatalogue([])).ABILITIES).toEqual({});
});

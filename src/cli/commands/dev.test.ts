import { devArguments } from './dev';

it('gives the root a port only if the command line has one: file and environment have a say otherwise', () => {
  expect(devArguments({ dataDir: '.agent-reach' } as never)).toEqual(['--data-dir', '.agent-reach']);
  expect(devArguments({ dataDir: 'd', port: 0, withExamples: true, config: 'c.yaml' } as never)).toEqual([
    '--data-dir',
    'd',
    '--port',
    '0',
    '--with-examples',
    '--config',
    'c.yaml',
  ]);
});

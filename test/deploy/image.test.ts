/** The Dockerfile as far as it can be judged without a container engine. */
import { isThere, textOf } from './files';

const dockerfile = textOf('Dockerfile');
const stages = dockerfile.split(/^FROM /m).slice(1);
const final = stages.at(-1) ?? '';
const ignored = textOf('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

/** What a COPY takes from the build context, by stage. */
function copied(stage: string): string[] {
  return [...stage.matchAll(/^COPY (?!--from)(.+)$/gm)]
    .flatMap(([, args = '']) => args.split(' ').slice(0, -1))
    .map((source) => source.replace(/^\.\//, ''));
}

describe('the image', () => {
  it('is built from files that exist and are not left out of the context', () => {
    const sources = stages.flatMap(copied);
    expect(sources).toEqual(
      expect.arrayContaining(['package.json', 'package-lock.json', 'src', 'workflows', 'activities']),
    );
    for (const source of sources)
      expect([source, isThere(source), ignored.includes(source)]).toEqual([source, true, false]);
  });

  it('has everything in its context that the compiler includes', () => {
    const { include } = JSON.parse(textOf('tsconfig.build.json')) as { include: string[] };
    expect(copied(stages[0] ?? '')).toEqual(expect.arrayContaining(include));
  });

  it('runs with production dependencies only, without sources, as nobody in particular', () => {
    expect(final).toContain('RUN npm ci --omit=dev');
    expect(copied(final).filter((source) => !source.startsWith('package') && source !== '.npmrc')).toEqual([]);
    expect(/^USER (\w+)$/m.exec(final)?.[1]).toBe('node');
    expect(final.indexOf('\nUSER ')).toBeLessThan(final.indexOf('\nENTRYPOINT '));
  });

  it('starts the program that package.json names, on a Node that it supports', () => {
    const { bin } = JSON.parse(textOf('package.json')) as { bin: Record<string, string> };
    expect(final).toContain(`ENTRYPOINT ["node", "${bin['agent-reach']}"]`);
    for (const stage of stages) {
      const [, major, minor] = /^node:(\d+)\.(\d+)\.\d+-\w+-slim/.exec(stage) ?? [];
      expect(Number(major) > 20 || (Number(major) === 20 && Number(minor) >= 19)).toBe(true);
    }
  });

  it('says whether it is alive', () => {
    expect(final).toMatch(/^HEALTHCHECK [^]*\/healthz/m);
  });

  it('gets no secrets', () => {
    expect(ignored).toEqual(expect.arrayContaining(['.git', '.env', 'node_modules']));
    expect(dockerfile).not.toMatch(/^(ARG|ENV) .*(KEY|TOKEN|PASSWORD|SECRET)/m);
  });
});

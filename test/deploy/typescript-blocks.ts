import { join } from 'node:path';
import ts from 'typescript';
import { pathOf } from './files';

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  esModuleInterop: true,
  types: ['node'],
  paths: { 'agent-reach/*': [pathOf('src/sdk/*')] },
};

/**
 * What the compiler says of each piece of TypeScript from a document; empty where it is well typed. `agent-reach/…` is
 * the SDK's source. All in one program, since most of the time goes into what they import.
 */
export function typeErrors(pieces: readonly string[]): string[][] {
  const codeOf = new Map(pieces.map((code, index) => [join(pathOf('.'), `piece-${index}.mts`), code]));
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (name) => codeOf.has(name) || fileExists(name);
  host.readFile = (name) => codeOf.get(name) ?? readFile(name);
  host.getSourceFile = (name, ...rest) => {
    const code = codeOf.get(name);
    return code === undefined ? getSourceFile(name, ...rest) : ts.createSourceFile(name, code, rest[0]);
  };
  const program = ts.createProgram([...codeOf.keys()], OPTIONS, host);
  return [...codeOf.keys()].map((name) => {
    const source = program.getSourceFile(name);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  });
}

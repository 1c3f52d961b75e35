import { join } from 'node:path';
import ts from 'typescript';
import { pathOf } from './files';

/** The last program: what did not change since then, nearly everything, is neither parsed nor bound again. */
let previous: ts.Program | undefined;

/** What the compiler says of TypeScript from a document that imports `agent-reach/…`; empty when it is well typed. */
export function typeErrors(code: string): string[] {
  const file = join(pathOf('.'), 'block-of-a-document.mts');
  const options: ts.CompilerOptions = {
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
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.readFile = (name) => (name === file ? code : readFile(name));
  host.getSourceFile = (name, ...rest) =>
    name === file
      ? ts.createSourceFile(name, code, options.target ?? ts.ScriptTarget.ES2022)
      : getSourceFile(name, ...rest);
  const program = ts.createProgram([file], options, host, previous);
  previous = program;
  const source = program.getSourceFile(file);
  const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

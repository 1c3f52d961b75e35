import tseslint from 'typescript-eslint';
import importX from 'eslint-plugin-import-x';

/** Elapsed time must be monotonic (R25): `Date.now()` needs a stated reason. */
const wallClock = {
  selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
  message: 'Use a monotonic clock (performance.now()) for elapsed time; a timestamp for people is new Date().',
};

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'coverage/', 'test/replay/histories/'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.{ts,mjs,cjs}'],
    plugins: { 'import-x': importX },
    rules: {
      'import-x/no-duplicates': 'error',
      'import-x/first': 'error',
      'max-params': ['error', 4],
      eqeqeq: ['error', 'always'],
      'no-console': 'error',
      'no-restricted-syntax': ['error', wallClock],
      'prefer-const': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    },
  },
  {
    files: ['src/**/*.ts', 'workflows/**/*.ts', 'activities/**/*.ts'],
    ignores: ['**/*.test.ts'],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/await-thenable': 'error',
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    // process.env is read at the edge only: config, the roots, the CLI and the engines' cache location.
    files: ['src/**/*.ts', 'workflows/**/*.ts', 'activities/**/*.ts'],
    ignores: ['src/config/**', 'src/*.ts', 'src/cli/**', 'src/engines/**', '**/*.test.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Configuration is parsed once, in src/config.' },
      ],
    },
  },
  {
    files: ['scripts/**', 'test/**', 'examples/**', 'bench/**', '**/*.test.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  { files: ['**/*.cjs', '**/*.mjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
  { files: ['scripts/**', 'examples/**', 'bench/**', 'src/cli/**', 'src/engines/**'], rules: { 'no-console': 'off' } },
);

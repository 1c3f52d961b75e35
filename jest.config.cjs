/** Packages that ship ES modules only and so must be transformed for jest's CommonJS runtime. */
const esmOnly = ['jose', 'uuid', 'p-limit'];

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  roots: [
    '<rootDir>/src',
    '<rootDir>/workflows',
    '<rootDir>/activities',
    '<rootDir>/test',
    '<rootDir>/examples',
    '<rootDir>/bench',
  ],
  testMatch: ['**/*.test.ts'],
  transform: {
    '^.+\\.[mc]?[tj]s$': [
      '@swc/jest',
      {
        jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${esmOnly.join('|')})/)`, '<rootDir>/dist/'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/once-more.cjs'],
  reporters: ['default', '<rootDir>/test/support/totals-reporter.cjs'],
  maxWorkers: 2,
  // What test files leave behind in a process adds up to gigabytes, and then it collects garbage instead of running tests.
  workerIdleMemoryLimit: '1500MB',
  // Temporary folders of a test run are removed with it; what was compiled may stay.
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  testTimeout: 120_000,
  forceExit: false,
};

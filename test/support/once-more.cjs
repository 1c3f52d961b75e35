/**
 * Tests on real engines share their machine with the engines, and what stalls it for seconds fails one of them now and then.
 * Such a test is run once more, after the others of its file, and its first error is printed: read it, it may be a race of ours.
 * Unit tests get no second chance.
 */
const { testPath } = expect.getState();
if (/[\\/]test[\\/]/.test(testPath ?? '')) jest.retryTimes(1, { logErrorsBeforeRetry: true });

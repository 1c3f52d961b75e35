/** Prints jest's totals as the very last line, `N passed, N failed`, for scripts that read only that. */
module.exports = class TotalsReporter {
  onRunComplete(_contexts, results) {
    const suites = results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests > 0 ? `, ${results.numPendingTests} skipped` : '';
    // A suite that could not even be loaded counts as a failure: its tests are not in the totals.
    process.on('exit', () => {
      process.stdout.write(`${results.numPassedTests} passed, ${results.numFailedTests + suites} failed${skipped}\n`);
    });
  }
};

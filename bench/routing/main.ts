/** The routing decision alone, in a process of its own. Usage: node main.js; prints one JSON document. */
import { runRoutingSpeed } from '../routing-speed';

runRoutingSpeed().then(
  (speed) => process.stdout.write(`${JSON.stringify(speed)}\n`),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);

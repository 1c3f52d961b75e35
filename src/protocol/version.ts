/** Version of Agent-Reach; a test holds it against package.json. */
export const VERSION = '0.1.0';

import type { Dispatcher } from 'undici';

/**
 * The dispatcher, telling `onSend` as soon as a request is about to be written to a connection: what fails before was never
 * received. To be used for one request.
 */
export function tellingOfSend(dispatcher: Dispatcher, onSend: () => void): Dispatcher {
  const dispatch: Dispatcher['dispatch'] = (options, handler) => dispatcher.dispatch(options, noting(handler, onSend));
  return Object.create(dispatcher, { dispatch: { value: dispatch } }) as Dispatcher;
}

/** The handler itself, as it is there for this one request: a wrapper would translate all headers twice. */
function noting(handler: Dispatcher.DispatchHandler, onSend: () => void): Dispatcher.DispatchHandler {
  const { onConnect, onRequestStart } = handler;
  if (onRequestStart)
    handler.onRequestStart = (...args) => {
      onSend();
      onRequestStart.apply(handler, args);
    };
  else
    handler.onConnect = (...args) => {
      onSend();
      onConnect?.apply(handler, args);
    };
  return handler;
}

/** What is asked, or the signal's reason as soon as it aborts: undici tells of it only once a request has a connection. */
export function orAborted<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    void asked.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

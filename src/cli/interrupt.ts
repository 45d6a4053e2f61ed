/** A chance to end well when somebody presses Ctrl-C or the system asks the process to end. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** Leaves the next signal to the system again. */
  dispose(): void;
}

/** Listens for SIGINT and SIGTERM once: a second one ends the process at once, as ever. */
export function listenForInterrupt(): Interrupt {
  const controller = new AbortController();
  const dispose = (): void => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  };
  const onSignal = (): void => {
    dispose();
    controller.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return { signal: controller.signal, dispose };
}

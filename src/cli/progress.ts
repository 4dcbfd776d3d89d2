/** A progress bar, where somebody sees it. */
import cliProgress from 'cli-progress'

interface Progress {
  /** So many are done. */
  to(done: number): void
  stop(): void
}

/** Draws on `stream`; nothing at all where it is no terminal. */
export function startProgress(total: number, stream: NodeJS.WriteStream, isInteractive: boolean): Progress {
  if (!isInteractive) return { to() {}, stop() {} }
  const bar = new cliProgress.SingleBar({
    stream,
    format: '{bar} {percentage} %  {value} of {total}  {duration_formatted}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: Math.max(10, Math.min(40, stream.columns - 40)),
    hideCursor: true,
    clearOnComplete: true,
    // Signals are the command's own.
    gracefulExit: false,
  })
  bar.start(total, 0)
  return { to: (done) => bar.update(done), stop: () => bar.stop() }
}

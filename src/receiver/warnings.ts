/** Warnings about valid options that may lose callbacks. */
import { hasBlankEnds } from '../verify/credentials.ts'
import { isWeakSecret } from '../runtime/failure-text.ts'
import type { StoreCapabilities } from '../inbox/store.ts'
import type { Logger } from '../runtime/logger.ts'

/** When the receiver is created. */
export function warnOfOptions(
  logger: Logger,
  { secrets, hasStore }: { readonly secrets: readonly string[]; readonly hasStore: boolean },
): void {
  if (secrets.some(hasBlankEnds))
    logger.warn(
      { code: 'secret_blank_ends' },
      'A key or secret begins or ends with white space. Was it read from a file with a line end? Trim it.',
    )
  if (secrets.some(isWeakSecret))
    logger.warn(
      { code: 'secret_weak' },
      'A key or secret is shorter than 8 characters, or has fewer than 5 different ones. It can be guessed, and where an error ' +
        'quotes it, the log does not mask it. Rotate it in the dashboard of the service.',
    )
  if (!hasStore && process.env['NODE_ENV'] === 'production')
    logger.warn(
      { code: 'memory_store' },
      'No `store` is set: events wait in memory, and what is not handled when the process ends is lost.',
    )
}

/** When it starts with a durable store that is not a local file: only a file has a default spool beside it. */
export function warnOfNoSpool(logger: Logger, { name }: StoreCapabilities): void {
  logger.warn(
    { code: 'no_spool' },
    `While the ${name} store is away, callbacks are answered 503 and lost, for the service does not send them again. Let ` +
      '`spool` name a folder on a local disk, or set `spool: false` if that is what you want.',
  )
}

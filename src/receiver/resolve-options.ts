/** Checks the options as a whole, fills in the defaults, and warns about valid options that may lose callbacks. */
import { z } from 'zod'
import { checkOptions } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import type { Carrier, CallbackSchemas } from '../public/events.ts'
import { receiverOptions, type ReceiverOptions } from './options.ts'
import type { CredentialsSource } from '../verify/credentials.ts'
import { mistakesIn } from '../verify/mistaken-secrets.ts'
import { isWeakSecret } from '../runtime/failure-text.ts'
import type { StoreCapabilities } from '../inbox/store.ts'
import type { Logger } from '../runtime/logger.ts'

const optionsSchema = z.strictObject(receiverOptions)

export type ResolvedOptions = Omit<z.output<typeof optionsSchema>, 'networks' | 'quarantine'> & {
  readonly networks: ReadonlyMap<string, Carrier>
  /** Undefined if the quarantine is off. */
  readonly quarantine: z.output<typeof optionsSchema>['quarantine'] | undefined
}

/** Throws an `OptionsError` that names the mistakes and contains no secret. */
export function resolveOptions<S extends CallbackSchemas>(options: ReceiverOptions<S>): ResolvedOptions {
  const checked = checkOptions(optionsSchema, options)
  if (checked.credentials === undefined && checked.projects === undefined)
    throw new OptionsError(
      'createReceiver: credentials or projects is required. Pass one, such as { credentials: { authKey, signingSecret } }.',
    )
  if (checked.credentials !== undefined && checked.projects !== undefined)
    throw new OptionsError('createReceiver: credentials and projects exclude each other. Pass one of them.')
  if (!checked.dispatch && checked.answer === 'handled')
    throw new OptionsError(
      'createReceiver: answer: "handled" needs handlers in this process. Remove it, or remove dispatch: false.',
    )
  return {
    ...checked,
    networks: new Map(Object.entries(checked.networks ?? {})),
    quarantine: options.quarantine === false ? undefined : checked.quarantine,
  }
}

/** Runs when the receiver is created. */
export function warnOfOptions(
  logger: Logger,
  { credentials, hasStore }: { readonly credentials: CredentialsSource; readonly hasStore: boolean },
): void {
  const secrets = credentials.secrets()
  for (const mistake of new Set(secrets.flatMap(mistakesIn)))
    logger.warn(
      { code: 'secret_mistaken' },
      `A key or secret ${mistake}. Compare it with the dashboard of the service, and correct it where it is configured.`,
    )
  if (credentials.fixed.some(({ secrets: [one, other] }) => one === other))
    logger.warn(
      { code: 'secret_mistaken' },
      'The Auth Key and the signing secret of a pair are equal. Copy each of the two from the dashboard of the service.',
    )
  if (secrets.some(isWeakSecret))
    logger.warn(
      { code: 'secret_weak' },
      'A key or secret is shorter than 8 characters or has fewer than 5 different ones. It can be guessed, and logs do not ' +
        'mask it. Rotate it in the dashboard of the service.',
    )
  if (credentials.fixed.some(({ secretKey }) => secretKey === undefined))
    logger.warn(
      { code: 'no_signing_secret' },
      'A pair has no signing secret: signatures are not verified, and only the authKey can prove a callback. Set ' +
        '`signingSecret`, which the dashboard of the service shows beside the Auth Key.',
    )
  if (!hasStore && process.env['NODE_ENV'] === 'production')
    logger.warn(
      { code: 'memory_store' },
      '`store` is not set: events are kept in memory, and unhandled ones are lost when the process ends. Set a durable store.',
    )
}

/** Runs at a start with a durable store that is not a local file: only a file has a default spool beside it. */
export function warnOfNoSpool(logger: Logger, { name }: StoreCapabilities): void {
  logger.warn(
    { code: 'no_spool' },
    `While the ${name} store is unavailable, callbacks are answered 503 and lost: the service does not send them again. ` +
      'Set `spool` to a folder on a local disk, or to false to accept the loss.',
  )
}

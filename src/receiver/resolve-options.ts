/** Checks the options as a whole and fills in the defaults. */
import { z } from 'zod'
import { checkOptions } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import type { Carrier, CallbackSchemas } from '../public/events.ts'
import { receiverOptions, type ReceiverOptions } from './options.ts'

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

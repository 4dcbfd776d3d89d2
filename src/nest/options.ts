/** Options of the module: the receiver's options, the paths of its URLs, and its name. */
import type { FactoryProvider, ModuleMetadata } from '@nestjs/common'
import { z } from 'zod'
import { PROOF_POLICIES } from '../public/callback.ts'
import { checkOptions, numberFrom, textOf, type Given } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'
import { recordOf } from '../runtime/values.ts'
import {
  CALLBACK_KINDS,
  OptionsError,
  type CallbackKind,
  type ReceiverOptions,
  type ProofPolicy,
  type CallbackSchemas,
} from '../index.ts'

const moduleName = {
  /** Distinguishes several receivers of an app. Default: none. */
  name: textOf('the name of the receiver').optional(),
}
const closeDeadline = {
  /** How long handlers may run after the app starts to close. Milliseconds, 0 to 2,147,483,647. Default: 10,000. */
  closeDeadlineMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').optional(),
}

/** The path of a kind of callback, optionally with the proofs that it requires. */
export type CallbackPath = string | { readonly path: string; readonly proof?: ProofPolicy | undefined }

/**
 * The path for each kind of callback: the whole path of the URL registered with the service. Global prefixes and versioning do
 * not apply. A trailing slash and letter case are ignored. Default: not mounted. Contract, service.md#callback-receiver.
 */
export type WebhooksPaths = Readonly<Partial<Record<CallbackKind, CallbackPath | undefined>>>

/** Options of `WebhooksModule.forRoot`: the receiver's options, the paths, `closeDeadlineMs` and `name`. */
export type WebhooksModuleOptions = UnnamedOptions & Given<typeof moduleName>

/** Options without the name, which Nest needs before it calls a factory. */
export type UnnamedOptions = ReceiverOptions<CallbackSchemas> & WebhooksPaths & Given<typeof closeDeadline>

/** Options of `WebhooksModule.forRootAsync`. */
export interface WebhooksModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'>, Given<typeof moduleName> {
  /** Providers passed to `useFactory`. */
  readonly inject?: FactoryProvider['inject']
  /** Returns the options, or a promise of them. */
  readonly useFactory: (...dependencies: never[]) => UnnamedOptions | Promise<UnnamedOptions>
}

export type ReadOptions = ReturnType<typeof readOptions>

/** Matches route syntax, which is not supported. */
const NO_PATH = /^[^/]|[\s?#*:(){}[\]\\]/

const path = z.custom<string>(
  (value) => typeof value === 'string' && value !== '' && !NO_PATH.test(value),
  "expected a path such as '/webhooks/status', without parameters or wildcards",
)
const callbackPath = z
  .preprocess(
    (given) => (typeof given === 'string' ? { path: given } : given),
    z.strictObject({ path, proof: z.enum(PROOF_POLICIES).optional() }),
  )
  .optional()
const pathsOption = z.strictObject({ ...recordOf(CALLBACK_KINDS, () => callbackPath), ...closeDeadline })

export function checkName(name: unknown): void {
  checkOptions(z.strictObject(moduleName), { name }, 'WebhooksModule')
}

/** Throws an `OptionsError` for an invalid path. The receiver checks its own options. */
export function readOptions(options: UnnamedOptions) {
  const { status, received, payment, subscription, closeDeadlineMs, ...receiver } = options
  const paths = checkOptions(
    pathsOption,
    { status, received, payment, subscription, closeDeadlineMs },
    'WebhooksModule',
  )
  const mounts = CALLBACK_KINDS.flatMap((kind) => (paths[kind] === undefined ? [] : [{ kind, ...paths[kind] }]))
  const twice = mounts.find(
    (one, at) => mounts.findIndex((other) => normalPath(other.path) === normalPath(one.path)) < at,
  )
  if (twice !== undefined)
    throw new OptionsError(`WebhooksModule: two kinds of callback have the path ${twice.path}. Give each its own path.`)
  return { receiver, mounts, closeDeadlineMs: paths.closeDeadlineMs }
}

export function normalPath(given: string): string {
  const lower = given.toLowerCase()
  return lower.length > 1 && lower.endsWith('/') ? lower.slice(0, -1) : lower
}

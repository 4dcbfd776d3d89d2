/** What the module is told: the receiver's options, where its URLs are, and how it is called. */
import type { FactoryProvider, ModuleMetadata } from '@nestjs/common'
import { z } from 'zod'
import { PROOF_POLICIES } from '../public/callback.ts'
import { checkOptions, numberFrom, textOf } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS } from '../runtime/clock.ts'
import {
  CALLBACK_KINDS,
  OptionsError,
  type CallbackKind,
  type Options,
  type ProofPolicy,
  type Schemas,
} from '../index.ts'

/** Where a kind of callback comes in: a path, or a path and the proofs that it needs. */
export type CallbackPath = string | { readonly path: string; readonly proof?: ProofPolicy | undefined }

/**
 * Where each kind of callback comes in: the whole path of the URL that is registered with the service, for neither a global
 * prefix nor versioning applies to it. A slash at its end and the case of letters make no difference. Contract,
 * service.md#callback-receiver.
 */
export interface WebhooksPaths {
  /** Delivery reports. Default: not mounted. */
  readonly status?: CallbackPath | undefined
  /** What customers write. Default: not mounted. */
  readonly received?: CallbackPath | undefined
  /** What customers pay. Default: not mounted. */
  readonly payment?: CallbackPath | undefined
  /** Premium callbacks. Default: not mounted. */
  readonly subscription?: CallbackPath | undefined
}

/** What `WebhooksModule.forRoot` takes: the receiver's options, the paths, `closeDeadlineMs` and `name`. */
export type WebhooksModuleOptions = UnnamedOptions & ModuleNameOption

/** The same without the name, which Nest has to know before a factory is asked. */
export type UnnamedOptions = Options<Schemas> & WebhooksPaths & CloseOption

/** What `WebhooksModule.forRootAsync` takes. */
export interface WebhooksModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'>, ModuleNameOption {
  /** What `useFactory` is called with. */
  readonly inject?: FactoryProvider['inject']
  /** Returns the options, or a promise of them. */
  readonly useFactory: (...dependencies: never[]) => UnnamedOptions | Promise<UnnamedOptions>
}

interface ModuleNameOption {
  /** Tells receivers apart where an app has several. Default: none. */
  readonly name?: string | undefined
}

interface CloseOption {
  /** When the app closes, handlers have so long to finish. Milliseconds, 0 to 2,147,483,647. Default: 10,000. */
  readonly closeDeadlineMs?: number | undefined
}

/** A path as it is mounted. */
export interface Mount {
  readonly kind: CallbackKind
  readonly path: string
  readonly proof: ProofPolicy | undefined
}

/** The options, taken apart. */
export interface ReadOptions {
  readonly receiver: Options<Schemas>
  readonly mounts: readonly Mount[]
  /** The receiver's own by default. */
  readonly closeDeadlineMs: number | undefined
}

/** What a path would mean to a router, and means nothing here. */
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
const pathsOption = z.strictObject({
  status: callbackPath,
  received: callbackPath,
  payment: callbackPath,
  subscription: callbackPath,
  closeDeadlineMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').optional(),
})
const nameOption = z.strictObject({ name: textOf('the name of the receiver').optional() })

/** Throws an `OptionsError` for a name that is none. */
export function checkName(name: unknown): void {
  checkOptions(nameOption, { name }, 'WebhooksModule')
}

/** Throws an `OptionsError` for a path that cannot be mounted; what is the receiver's, it checks itself. */
export function readOptions(options: UnnamedOptions): ReadOptions {
  const { status, received, payment, subscription, closeDeadlineMs, ...receiver } = options
  const paths = checkOptions(
    pathsOption,
    { status, received, payment, subscription, closeDeadlineMs },
    'WebhooksModule',
  )
  const mounts = CALLBACK_KINDS.flatMap((kind): Mount | readonly Mount[] => {
    const given = paths[kind]
    return given === undefined ? [] : { kind, path: given.path, proof: given.proof }
  })
  const twice = mounts.find((one, at) => mounts.findIndex((other) => isSamePath(one.path, other.path)) < at)
  if (twice !== undefined)
    throw new OptionsError(`WebhooksModule: two kinds of callback have the path ${twice.path}; each needs its own.`)
  return { receiver, mounts, closeDeadlineMs: paths.closeDeadlineMs }
}

function isSamePath(one: string, other: string): boolean {
  return normalPath(one) === normalPath(other)
}

/** As paths are compared. */
export function normalPath(given: string): string {
  const lower = given.toLowerCase()
  return lower.length > 1 && lower.endsWith('/') ? lower.slice(0, -1) : lower
}

/** Values that hostile user functions may throw or return. */
import { onTestFinished } from 'vitest'
import { AUTH_KEY, SIGNING_SECRET } from './receiving.ts'

/** Throws a value that itself throws on every access, so that code that inspects it fails again. */
function refuse(): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- what is thrown is the test
  throw hostileProxy()
}

/** A proxy whose every trap throws. */
function hostileProxy(target: object = {}): object {
  return new Proxy(target, {
    apply: refuse,
    construct: refuse,
    defineProperty: refuse,
    deleteProperty: refuse,
    get: refuse,
    getOwnPropertyDescriptor: refuse,
    getPrototypeOf: refuse,
    has: refuse,
    isExtensible: refuse,
    ownKeys: refuse,
    preventExtensions: refuse,
    set: refuse,
    setPrototypeOf: refuse,
  })
}

function withThrowingGetters(): Error {
  const get = { get: refuse }
  return Object.defineProperties(new Error('x'), { message: get, stack: get, name: get, cause: get, toString: get })
}

function withCyclicCause(): Error {
  const error = new Error('round and round')
  return Object.assign(error, { cause: new Error('again', { cause: error }) })
}

/** Values to throw; those that can quote text quote the secrets. */
export const THROWN: readonly (readonly [what: string, thrown: () => unknown])[] = [
  ['an error that quotes the secrets', () => new Error(`${AUTH_KEY} ${SIGNING_SECRET}`)],
  ['undefined', () => undefined],
  ['a symbol', () => Symbol('down')],
  ['an object without a prototype', () => Object.create(null) as object],
  ['a proxy whose every trap throws', () => hostileProxy()],
  ['a proxy of an error whose every trap throws', () => hostileProxy(new Error('x'))],
  ['an error whose getters throw', withThrowingGetters],
  ['an error with a cyclic cause', withCyclicCause],
  ['an error of 10 MB', () => new Error('x'.repeat(10_000_000))],
  ['a thenable that rejects', () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error('x')) })],
]

/** Unhandled rejections and exceptions until the test ends; they would end the process. */
export function unhandledRejections(): readonly unknown[] {
  const reasons: unknown[] = []
  const add = (reason: unknown): void => void reasons.push(reason)
  process.on('unhandledRejection', add)
  process.on('uncaughtException', add)
  onTestFinished(() => {
    process.off('unhandledRejection', add)
    process.off('uncaughtException', add)
  })
  return reasons
}

/** Node reports an unhandled rejection only after the microtasks. */
export async function untilRejectionsReported(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

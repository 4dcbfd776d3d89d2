import { createReceiver, memoryStore, OptionsError, type ReceiverOptions } from 'messaging-webhooks'
import { describe, expect, test } from 'vitest'
import { OPTIONS } from '../../docs/options.ts'
import { receiverOptions } from '../../src/receiver/options.ts'
import { resolveOptions } from '../../src/receiver/resolve-options.ts'

const credentials = { authKey: 'key-of-the-tests', signingSecret: 'secret-of-the-tests' }

/** The text of the error for these options; they are invalid, so they bypass the compiler. */
function refusalOf(options: object): string {
  let thrown: unknown
  try {
    void Reflect.apply(createReceiver, undefined, [options])
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(OptionsError)
  return thrown instanceof OptionsError ? thrown.message : ''
}

const SECRET = 'SECRET-VALUE-THAT-NO-TEXT-MAY-SHOW'

test.each([[], [undefined]])('says what to pass without options', (...args) => {
  const make = (): unknown => Reflect.apply(createReceiver, undefined, args)
  expect(make).toThrow(OptionsError)
  expect(make).toThrow('credentials or projects is required')
})

/** The value, and the expectation in the error. */
const REFUSED: readonly (readonly [what: string, options: object, says: readonly string[]])[] = [
  ['no credentials', {}, ['credentials or projects is required', '{ credentials: { authKey, signingSecret } }']],
  ['both forms', { credentials, projects: { a: credentials } }, ['credentials and projects exclude each other']],
  ['a text', { credentials: SECRET }, ['credentials', 'pair', 'function']],
  ['an empty list', { credentials: [] }, ['credentials is an empty list']],
  ['too many pairs', { credentials: Array(17).fill(credentials) }, ['17 pairs', 'at most 16']],
  ['an empty pair', { credentials: {} }, ['neither authKey nor signingSecret']],
  ['null in a list', { credentials: [null] }, ['credentials is not a pair']],
  ['an empty authKey', { credentials: { authKey: '', signingSecret: SECRET } }, ['authKey is empty']],
  ['an unset secret', { credentials: { authKey: SECRET, signingSecret: undefined } }, ['signingSecret is undefined']],
  ['a number for a key', { credentials: { authKey: 7 } }, ['authKey is of type number', 'non-empty string']],
  ['no date', { credentials: { authKey: SECRET, notAfter: new Date(SECRET) } }, ['an invalid notAfter']],
  ['no project', { projects: {} }, ['`projects` names no project']],
  ['a project without pairs', { projects: { 'My Shop': [] } }, ['projects["My Shop"] is an empty list']],
  ['an unknown carrier', { credentials, networks: { x: SECRET } }, ['networks.x', 'carrierA', 'carrierB']],
  ['a store that cannot be opened', { credentials, store: {} }, ['store', 'memoryStore()']],
  ['an unknown policy', { credentials, proof: SECRET }, ['proof', 'either', 'signature', 'authKey', 'both']],
  ['a string for a number', { credentials, toleranceSeconds: SECRET }, ['toleranceSeconds is a string', 'seconds']],
  ['half a handler', { credentials, concurrency: 1.5 }, ['concurrency is 1.5', 'a whole number from 1 to 100,000']],
  ['dedupeKey as a text', { credentials, dedupeKey: SECRET }, ['dedupeKey', 'expected a function']],
  ['no schema', { credentials, schemas: { payment: { parse() {} } } }, ['schemas.payment', 'Standard Schema']],
  ['a schema of no kind', { credentials, schemas: { status: {} } }, ['Invalid option: schemas.status']],
  ['a clock that has no timers', { credentials, clock: { now: Date.now } }, ['clock', 'function']],
  ['logger: true', { credentials, logger: true }, ['logger', 'debug, info, warn and error', 'false']],
  ['a nested misspelling', { credentials, retry: { attempt: 3 } }, ['retry.attempt', 'Did you mean retry.attempts?']],
  ['a plural', { credentials, retries: 3 }, ['Invalid option: retries. Did you mean retry?']],
  ['letters that are swapped', { credentails: credentials }, ['credentails. Did you mean credentials?']],
  ['a letter of the wrong case', { credentials, maxbodybytes: 1 }, ['Did you mean maxBodyBytes?']],
  ['a nested one unlike any option', { credentials, quarantine: { colour: 1 } }, ['Valid: maxBytes, maxAgeHours']],
  ['an unheard-of option', { credentials, colour: SECRET }, ['Invalid option: colour.']],
  ['no object', [], ['is a list', 'expected an object']],
]

test.each(REFUSED)('%s: the error names the expectation, and no value', (_what, options, says) => {
  const text = refusalOf(options)
  for (const words of says) expect(text).toContain(words)
  expect(text).not.toContain(SECRET)
})

describe('a number outside its range is refused with the range', () => {
  const ranges = OPTIONS.flatMap(({ name, range }) => (range === undefined ? [] : [[name, ...range] as const]))

  test.each(ranges)('%s', (name, least, most) => {
    const [group = '', key] = name.split('.')
    const given = (value: number): object => ({ credentials, [group]: key === undefined ? value : { [key]: value } })
    const range = `from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}.`
    for (const wrong of [least - 1, most * 2, NaN, Infinity])
      expect(refusalOf(given(wrong))).toMatch(new RegExp(`${name} is ${wrong}; expected a .* ${range}`))
    for (const right of [least, most]) expect(() => resolveOptions(given(right) as ReceiverOptions)).not.toThrow()
  })
})

test('shortens many unknown names, and a long one', () => {
  const variables = Object.fromEntries(Array.from({ length: 40 }, (_, nth) => [`VARIABLE_${nth}`, SECRET]))
  const text = refusalOf({ credentials, ...variables })
  expect(text).toContain('Invalid option: VARIABLE_8. And 31 more.')
  expect(text).not.toContain('VARIABLE_9')
  expect(refusalOf({ credentials, [`${'x'.repeat(80)}${SECRET}`]: 1 })).not.toContain(SECRET)
})

test('ignores undefined options', () => {
  const nothing = Object.fromEntries(Object.keys(receiverOptions).map((name) => [name, undefined]))
  expect(() => createReceiver({ ...nothing, credentials })).not.toThrow()
})

test.each(['maxEvents', 'maxBytes', 'maxDeadLetters', 'dedupeDays'])(
  'memoryStore refuses a non-positive %s',
  (name) => {
    for (const value of [0, -1, NaN]) expect(() => memoryStore({ [name]: value })).toThrow(OptionsError)
  },
)

test('logs one line about the memory store in production without a store', () => {
  const lines: unknown[] = []
  const log = (...line: unknown[]): void => void lines.push(line)
  const logger = { debug: log, info: log, warn: log, error: log }
  const before = process.env['NODE_ENV']
  try {
    process.env['NODE_ENV'] = 'production'
    createReceiver({ credentials, logger })
    expect(lines).toEqual([[{ code: 'memory_store' }, expect.stringContaining('in memory')]])
    createReceiver({ credentials, logger, store: memoryStore() })
    process.env['NODE_ENV'] = 'development'
    createReceiver({ credentials, logger })
    expect(lines).toHaveLength(1)
  } finally {
    process.env['NODE_ENV'] = before
  }
})

/** Checks options and arguments, with the same wording everywhere: the value, the expectation, and a suggestion. */
import { z } from 'zod'
import { LONGEST_TIMER_MS, type Clock } from './clock.ts'
import { OptionsError } from '../public/errors.ts'

/** Maximum number of names or mistakes in a message. The reference lists all. */
const MAX_LISTED = 9
/** Maximum length of an unknown name in a message. */
const MAX_SHOWN = 80

/**
 * Returns the checked options with the defaults of the schema. Throws an `OptionsError` that names `where`, the called function,
 * and each mistake. It shows a value only if a number is expected: any other value may be a secret, a phone number or a
 * one-time password.
 */
export function checkOptions<T extends z.ZodType>(schema: T, given: unknown, where?: string): z.output<T> {
  const parsed = parse(schema, given === undefined ? {} : given, where)
  if (typeof parsed !== 'string') return parsed.data
  throw new OptionsError(parsed)
}

/** Returns a description of invalid options. Drops the error of a getter or proxy, because it may quote a secret. */
function parse<T extends z.ZodType>(
  schema: T,
  given: unknown,
  where: string | undefined,
): { readonly data: z.output<T> } | string {
  try {
    // The code that zod compiles for each object would cost a start 3 ms, and save 0.3 µs of each further check.
    const parsed = schema.safeParse(given, { reportInput: true, jitless: true })
    return parsed.success ? parsed : explainAll(schema, parsed.error.issues, where)
  } catch {
    return `${calling(where)}an option cannot be read, because its getter or a proxy throws.`
  }
}

function calling(where: string | undefined): string {
  return where === undefined ? '' : `${where}: `
}

function explainAll(schema: z.ZodType, issues: readonly z.core.$ZodIssue[], where: string | undefined): string {
  const mistakes = issues.flatMap((issue) => explain(schema, issue, where))
  const listed = mistakes.slice(0, MAX_LISTED).join(' ')
  const more = mistakes.length - MAX_LISTED
  return more > 0 ? `${listed} And ${more} more.` : listed
}

/** One mistake, or one for each unknown name. */
function explain(schema: z.ZodType, issue: z.core.$ZodIssue, where: string | undefined): readonly string[] {
  const name = issue.path.join('.')
  if (issue.code !== 'unrecognized_keys') {
    const what = name === '' ? 'options' : name
    return [`${calling(where)}${what} is ${described(schema, issue)}; ${expectationOf(schema, issue)}.`]
  }
  const invalid = where === undefined ? 'Invalid option' : `Invalid option for ${where}`
  const siblings = keysOf(issue.path.reduce<unknown>(step, schema))
  const within = name === '' ? '' : `${name}.`
  return issue.keys.map((key) => `${invalid}: ${unknownKey(key, within, siblings)}`)
}

function unknownKey(key: string, within: string, siblings: readonly string[]): string {
  const sibling = nearest(key, siblings)
  const what = `${within}${key.slice(0, MAX_SHOWN)}.`
  if (sibling !== undefined) return `${what} Did you mean ${within}${sibling}?`
  return siblings.length > MAX_LISTED ? what : `${what} Valid: ${siblings.join(', ')}.`
}

/** Describes an unknown name and suggests a known one. Names are not secrets; long ones are cut. */
export function unknownName(given: unknown, known: readonly string[]): string {
  const got = `Got ${typeof given === 'string' ? JSON.stringify(given.slice(0, MAX_SHOWN)) : describe(given)}.`
  const near = typeof given === 'string' ? nearest(given, known) : undefined
  const meant = near === undefined ? '' : ` Did you mean ${JSON.stringify(near)}?`
  return near === undefined || known.length <= MAX_LISTED
    ? `${got}${meant} Valid: ${known.join(', ')}.`
    : `${got}${meant}`
}

/** Throws an `OptionsError` if the name is unknown. `where` is the call, `what` the kind of name. */
export function checkName(where: string, what: string, name: unknown, known: readonly string[]): void {
  if (!known.some((other) => other === name))
    throw new OptionsError(`${where}: unknown ${what}. ${unknownName(name, known)}`)
}

/** Describes a value: numbers and booleans by value, anything else by type, because a misplaced string may be a secret. */
export function describe(value: unknown): string {
  if (typeof value === 'number' || value === undefined || value === null) return String(value)
  if (typeof value === 'string') return value === '' ? 'an empty string' : 'a string'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  return typeof value === 'boolean' ? String(value) : `a ${typeof value}`
}

function described(schema: z.ZodType, { path, input }: z.core.$ZodIssue): string {
  return typeof input === 'number' && !takesNumbers(path.reduce<unknown>(step, schema)) ? 'a number' : describe(input)
}

function takesNumbers(schema: unknown): boolean {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodUnion) return inner.options.some(takesNumbers)
  return inner instanceof z.ZodNumber || (inner instanceof z.ZodType && inner.meta()?.['isNumber'] === true)
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  record: 'an object',
}

/** The expectation in the words of the schema, otherwise in the words of zod. */
function expectationOf(schema: z.ZodType, issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith('expected ')) return issue.message
  if (issue.code === 'invalid_value') return `expected one of ${issue.values.map(String).join(', ')}`
  if (issue.code !== 'invalid_type') return issue.message
  if (issue.expected !== 'object') return `expected ${TYPES[issue.expected] ?? issue.expected}`
  const keys = keysOf(issue.path.reduce<unknown>(step, schema))
  return keys.length > MAX_LISTED ? 'expected an object' : `expected an object such as { ${keys.join(', ')} }`
}

function step(schema: unknown, key: PropertyKey): unknown {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodObject) return inner.shape[String(key)]
  return inner instanceof z.ZodArray ? inner.element : undefined
}

function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault)
    return unwrapped(schema.unwrap())
  // A preprocessed value is checked at the end of the pipe.
  return schema instanceof z.ZodPipe ? unwrapped(schema.out) : schema
}

function keysOf(schema: unknown): readonly string[] {
  const inner = unwrapped(schema)
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : []
}

/** A schema for the values that `is` accepts. Errors show `words`, and so does the reference's table without another `meta`. */
export function expected<T>(
  words: string,
  is: (value: unknown) => boolean,
  meta: z.core.GlobalMeta = {},
): z.ZodType<T, T> {
  // At once: zod copies the schema for each.
  return z.custom<T>(is, `expected ${words}`).meta({ description: words, ...meta })
}

type Retyped<T, Types> = { readonly [Name in keyof T]: Name extends keyof Types ? Types[Name] : T[Name] }

/**
 * The input type of a shape of options. Mapped by name, so that each option keeps its comment; options within a schema lose it
 * in the published types. `Types` replaces types that no schema can express.
 */
export type Given<Shape extends z.core.$ZodShape, Types = {}> = Retyped<z.input<z.ZodObject<Shape>>, Types>

/** A number in a range. `of` is its unit, for example `milliseconds`. */
export function numberFrom(minimum: number, maximum: number, of?: string): z.ZodType<number, number> {
  const range =
    maximum === Infinity ? `of at least ${written(minimum)}` : `from ${written(minimum)} to ${written(maximum)}`
  return expected<number>(
    `${of === undefined ? 'a number' : `a number of ${of}`} ${range}`,
    (value) => typeof value === 'number' && value >= minimum && value <= maximum,
    { description: of, minimum, maximum, isNumber: true },
  )
}

export function wholeNumberFrom(minimum: number, maximum: number): z.ZodType<number, number> {
  return expected<number>(
    `a whole number from ${written(minimum)} to ${written(maximum)}`,
    (value) => Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum,
    { description: 'count', minimum, maximum, isNumber: true },
  )
}

/** Maximum number of items on a page. */
export const pageLimit = wholeNumberFrom(1, 100_000)

/** A number above 0. Rejects 0, which an unset variable often becomes. */
export function numberAboveZero(most: number, of?: string): z.ZodType<number, number> {
  const upTo = most === Infinity ? '' : ` and at most ${written(most)}`
  return expected<number>(
    `${of === undefined ? 'a number' : `a number of ${of}`} above 0${upTo}`,
    (value) => typeof value === 'number' && value > 0 && value <= most,
    { isNumber: true },
  )
}

/** One hundred years. Databases cannot represent much longer times. */
export const LONGEST_DAYS = 36_500

export const daysAboveZero = numberAboveZero(LONGEST_DAYS, 'days')
export const millisecondsAboveZero = numberAboveZero(LONGEST_TIMER_MS, 'milliseconds')

/** `toLocaleString` takes 10 ms when a process calls it first. */
function written(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/** A string that is not empty. `what` describes it. */
export function textOf(what: string): z.ZodType<string, string> {
  return expected<string>(what, (value) => typeof value === 'string' && value !== '')
}

export function objectLike(what: string, ...methods: readonly string[]): z.ZodType<object, object> {
  return expected<object>(what, (value) => hasMethods(value, methods))
}

/** Whether it is an object or function with all of these methods. */
export function hasMethods(value: unknown, methods: readonly string[]): boolean {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    methods.every((method) => typeof Reflect.get(value, method) === 'function')
  )
}

/** A source of time, without `soon`. `clockOf` turns it into a clock. */
export const clockOption = expected<Clock | (() => number)>(
  'a function that returns milliseconds, or a clock with now and setTimer',
  (value) => typeof value === 'function' || hasMethods(value, ['now', 'setTimer']),
).optional()

/** A function. Errors and the reference show `signature`. */
export function functionOf<T>(signature: string): z.ZodType<T, T> {
  return expected<T>(`a function ${signature}`, (value) => typeof value === 'function')
}

export const functionLike = z.custom<(...input: never[]) => unknown>(
  (value) => typeof value === 'function',
  'expected a function',
)

/** Maximum number of wrong letters, and their maximum share of the longer name, so that short names do not all match. */
const MAX_EDITS = 3
const MAX_EDITED = 0.43
/** A shorter prefix or suffix matches too many names. */
const SHORTEST_PART = 4

/** The closest known name, ignoring case. Undefined if none is close. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  return nearestByEdits(name, known) ?? known.find((other) => isPartOf(name, other))
}

/** Like `nearest`, but does not match a prefix or suffix. */
export function nearestByEdits(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let fewest = MAX_EDITS + 1
  for (const other of known) {
    const longest = Math.max(name.length, other.length)
    // The difference in length is a lower bound. It also bounds the work for a very long name.
    if (Math.abs(name.length - other.length) > MAX_EDITS) continue
    const edits = editsBetween(name.toLowerCase(), other.toLowerCase())
    if (edits < fewest && edits <= longest * MAX_EDITED) [best, fewest] = [other, edits]
  }
  return best
}

function isPartOf(name: string, other: string): boolean {
  const [shorter = '', longer = ''] = [name.toLowerCase(), other.toLowerCase()].sort((a, b) => a.length - b.length)
  return shorter.length >= SHORTEST_PART && (longer.startsWith(shorter) || longer.endsWith(shorter))
}

/** The number of letters omitted, added, changed, or swapped with a neighbour (Damerau and Levenshtein). */
function editsBetween(name: string, other: string): number {
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= name.length; row += 1) {
    const edits = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = name[row - 1] === other[column - 1]
      const isSwapped = name[row - 1] === other[column - 2] && name[row - 2] === other[column - 1]
      edits[column] = Math.min(
        at(last, column) + 1,
        at(edits, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(beforeLast, column - 2) + 1 : Infinity,
      )
    }
    beforeLast = last
    last = edits
  }
  return at(last, other.length)
}

function at(edits: readonly number[], column: number): number {
  return edits[column] ?? Infinity
}

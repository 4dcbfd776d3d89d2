/**
 * Field tables: each field of a stored object once, with the check of its value. The type of the object, its guard and its
 * codec derive from the table, so a new field is one line.
 */
import { isRecord } from '../runtime/values.ts'

export type Check<T> = (value: unknown) => value is T

type FieldTable = Readonly<Record<string, Check<unknown>>>

/** The fields of a table, all required. */
export type FieldsOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Check<infer Value> ? Value : never
}

/** The names in the order of the table. */
export function namesOf<Table extends FieldTable>(table: Table): readonly (keyof Table & string)[] {
  // A table is a literal in this package, so it has no other keys.
  return Object.keys(table)
}

/** Whether a value has every required field, and no optional field with another value. */
export function hasFields(value: unknown, required: FieldTable, optional: FieldTable): value is object {
  if (!isRecord(value)) return false
  for (const name in required) if (required[name]?.(value[name]) !== true) return false
  for (const name in optional) {
    const field = value[name]
    if (field !== undefined && optional[name]?.(field) !== true) return false
  }
  return true
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText)
}

export function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

export function isTrue(value: unknown): value is true {
  return value === true
}

export function isAnything(_value: unknown): _value is unknown {
  return true
}

/** The range of a `Date`. */
const LAST_TIME_MS = 8.64e15

export function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= LAST_TIME_MS
}

export function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && isTime(value * 1_000)
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

export function oneOf<const Words extends readonly unknown[]>(words: Words): Check<Words[number]> {
  return (value): value is Words[number] => words.includes(value)
}

export function orNone<T>(check: Check<T>): Check<T | undefined> {
  return (value): value is T | undefined => value === undefined || check(value)
}

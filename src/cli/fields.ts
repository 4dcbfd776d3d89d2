/**
 * `--set field=value` parses fields of a callback: the service's payloads are open, so any field is allowed. `--fault
 * name=rate` parses faults.
 */
import type { z } from 'zod'
import { OptionsError } from '../public/errors.ts'
import { checkOptions } from '../runtime/check-options.ts'
import { isRecord, parsedJson } from '../runtime/values.ts'
import { usage } from './command.ts'
import { shown } from './terminal.ts'

type Fields = Record<string, unknown>

/** Names that would change the object's prototype. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * `statuses.error=late` sets a field in an object, `amount:=12.5` sets a JSON value. Other values are text, or numbers where
 * `like` has a number. Throws a `CliError` for anything else.
 */
export function readFields(settings: readonly string[], like: Readonly<Fields>): Fields {
  const fields: Fields = {}
  for (const setting of settings) {
    const [, name, colon, text] = /^([^=:]+)(:?)=(.*)$/s.exec(setting) ?? []
    if (name === undefined || text === undefined)
      throw usage(`--set ${shown(setting)} has no “=”.`, 'Expected field=value, or field:=JSON.')
    const path = name.split('.')
    if (path.some((part) => part === '' || FORBIDDEN.has(part)))
      throw usage(`--set ${shown(name)}: invalid field name.`)
    put(fields, path, valueOf(name, text, colon === ':', at(like, path)))
  }
  return fields
}

function valueOf(name: string, text: string, isJson: boolean, example: unknown): unknown {
  if (isJson) {
    const value = parsedJson(text)
    if (value !== undefined) return value
    throw usage(`--set ${shown(name)}:= is not JSON.`, 'A JSON string needs its own quotation marks.')
  }
  if (typeof example !== 'number') return text
  const number = text.trim() === '' ? NaN : Number(text)
  if (Number.isNaN(number))
    throw usage(`--set ${shown(name)} expects a number.`, `Use ${shown(name)}:=… for other JSON.`)
  return number
}

function at(fields: Readonly<Fields>, path: readonly string[]): unknown {
  let value: unknown = fields
  for (const part of path) value = isRecord(value) && Object.hasOwn(value, part) ? value[part] : undefined
  return value
}

function put(fields: Fields, path: readonly string[], value: unknown): void {
  let object = fields
  for (const part of path.slice(0, -1)) {
    const inner = object[part]
    const next: Fields = isRecord(inner) ? inner : {}
    object[part] = next
    object = next
  }
  object[path.at(-1) ?? ''] = value
}

/** Parses faults as `name` or `name=rate`, with the emulator's schema. `where` is the flag. */
export function readRates<T extends z.ZodType>(schema: T, given: readonly string[] = [], where: string): z.output<T> {
  const rates = given.map((fault) => {
    const [name = '', rate = '1'] = fault.split('=')
    return [name, rate.trim() === '' ? NaN : Number(rate)]
  })
  try {
    return checkOptions(schema, Object.fromEntries(rates), where)
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    throw usage(error.detail ?? '', 'Example: name=0.05 for one in twenty. `trigger --list` prints the faults.')
  }
}

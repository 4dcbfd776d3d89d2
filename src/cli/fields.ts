/**
 * `--set field=value`: fields of a callback, from text. The service's payloads are open, so any field may be sent; one that looks
 * misspelt is noted.
 */
import { nearestByEdits } from '../runtime/did-you-mean.ts'
import { isRecord } from '../runtime/values.ts'
import { CliError } from './exit-codes.ts'
import { shown } from './terminal.ts'
import type { KnownFields } from './trigger-events.ts'

type Fields = Record<string, unknown>

/** They would be read as something else than fields. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * `statuses.error=late` sets a field in an object, `amount:=12.5` one that is JSON. Text is text, but where `like` has a
 * number it must be one. Throws a `CliError` for anything else.
 */
export function readFields(settings: readonly string[], like: Readonly<Fields>): Fields {
  const fields: Fields = {}
  for (const setting of settings) {
    const [, name, colon, text] = /^([^=:]+)(:?)=(.*)$/s.exec(setting) ?? []
    if (name === undefined || text === undefined)
      throw new CliError('usage', `--set ${shown(setting)} has no “=”.`, 'Expected field=value, or field:=JSON.')
    const path = name.split('.')
    if (path.some((part) => part === '' || FORBIDDEN.has(part)))
      throw new CliError('usage', `--set ${shown(name)}: no field can have this name.`)
    put(fields, path, valueOf(name, text, colon === ':', at(like, path)))
  }
  return fields
}

function valueOf(name: string, text: string, isJson: boolean, example: unknown): unknown {
  if (isJson) return parseJson(name, text)
  if (typeof example !== 'number') return text
  const number = text.trim() === '' ? NaN : Number(text)
  if (Number.isNaN(number))
    throw new CliError('usage', `--set ${shown(name)} takes a number.`, `${shown(name)}:=… takes any JSON.`)
  return number
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CliError('usage', `--set ${shown(name)}:= is not JSON.`, 'A text in JSON has quotation marks of its own.')
  }
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

export interface MisspeltField {
  /** As in `statuses.stauts`. */
  readonly name: string
  readonly meant: string
}

/** Those that no callback of this form has, and that are much like one which was not given. */
export function misspeltFields(given: Readonly<Fields>, known: KnownFields): readonly MisspeltField[] {
  return Object.entries(known).flatMap(([within, names]) => {
    const inner = given[within]
    const fields = within === '' ? given : isRecord(inner) ? inner : {}
    const left = names.filter((name) => !Object.hasOwn(fields, name))
    return Object.keys(fields).flatMap((name): readonly MisspeltField[] => {
      if (names.includes(name)) return []
      const meant = elsewhere(name, known) ?? pathOf(within, nearestByEdits(name, left))
      return meant === undefined ? [] : [{ name: pathOf(within, name) ?? name, meant }]
    })
  })
}

/** The same name at another place, as `status` of the chat-app, which stands in `statuses`. */
function elsewhere(name: string, known: KnownFields): string | undefined {
  const place = Object.entries(known).find(([, names]) => names.includes(name))
  return place === undefined ? undefined : pathOf(place[0], name)
}

function pathOf(within: string, name: string | undefined): string | undefined {
  return within === '' || name === undefined ? name : `${within}.${name}`
}

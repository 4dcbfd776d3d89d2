/** Fields of `--set` that look misspelt. The service's payloads are open, so any field may be sent; a likely slip is told. */
import { nearestByEdits } from '../did-you-mean.ts'
import type { KnownFields } from './trigger-events.ts'

type Fields = Readonly<Record<string, unknown>>

export interface MisspeltField {
  /** As in `statuses.stauts`. */
  readonly name: string
  readonly meant: string
}

/** Those that no callback of this form has, and that are much like one which was not given. */
export function misspeltFields(given: Fields, known: KnownFields): readonly MisspeltField[] {
  return Object.entries(known).flatMap(([within, names]) => {
    const fields = within === '' ? given : fieldsIn(given[within])
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

function fieldsIn(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/** The documented fields of callbacks. The types and the known names derive from these tables. */
import { z } from 'zod'
import { OptionsError } from '../public/errors.ts'
import type { ReportShape } from '../public/report-payloads.ts'
import { describe, type Given } from '../runtime/check-options.ts'
import { nearestByEdits } from '../runtime/did-you-mean.ts'
import { isRecord } from '../runtime/values.ts'

/** Builders accept any field, because the service may add some. */
export type Fields = Readonly<Record<string, unknown>>

const text = z.string().optional()
const code = z.union([z.string(), z.number()]).optional()
const unixSeconds = z.number().optional()

const smsFields = {
  project: text,
  messageId: text,
  channel: text,
  /** Carrier A: `success`, `network_failure`, ...; carrier B: its own words. */
  status: text,
  /** A code of the service's table. */
  statusCode: code,
  network: text,
  type: text,
  /** Unix seconds. */
  timestamp: unixSeconds,
  /** Carrier B's reason for a failure. */
  description: text,
  /** Carrier B's reason for a failure, as a code. */
  status_code: code,
  authKey: text,
}

const statuses = {
  recipient: text,
  message_id: text,
  /** `sent`, `delivered`, `read` or `failed`. */
  status: text,
  type: text,
  conversation_id: text,
  /** Unix seconds, as text. */
  expiration_timestamp: text,
  category: text,
  /** The reason for a failure. */
  error: text,
}

const chatAppFields = {
  project: text,
  channel: text,
  /** The sending number of the project. */
  phone_number: text,
  statuses: z.object(statuses).optional(),
  /** Unix seconds. */
  timestamp: unixSeconds,
  /** A code of the service's table. */
  statusCode: code,
  authKey: text,
}

/** Contract, service.md#sms-delivery-callback. A field that is undefined is omitted from the body. */
export type SmsDeliveryFields = Given<typeof smsFields>
/** The fields of `statuses` in a chat-app callback. */
export type ChatAppStatuses = Given<typeof statuses>
/** Contract, service.md#chat-app-delivery-callback. A field that is undefined is omitted from the body. */
export type ChatAppFields = Given<typeof chatAppFields, { readonly statuses: ChatAppStatuses | undefined }>

/** Names of the documented fields, by the object that contains them: `''` for the body itself. */
type KnownFields = Readonly<Record<string, readonly string[]>>

/** A chat-app callback also accepts `messageId` at the top level and moves it into `statuses`. */
export const KNOWN_FIELDS: Readonly<Record<ReportShape, KnownFields>> = {
  sms: { '': Object.keys(smsFields) },
  'chat-app': { '': [...Object.keys(chatAppFields), 'messageId'], statuses: Object.keys(statuses) },
}

interface MisspeltField {
  /** For example `statuses.stauts`. */
  readonly name: string
  readonly meant: string
}

/** Undocumented fields that resemble a documented one that was not given. */
function misspeltFields(given: Fields, known: KnownFields): readonly MisspeltField[] {
  return Object.entries(known).flatMap(([within, names]) => {
    const inner = within === '' ? given : given[within]
    const fields = isRecord(inner) ? inner : {}
    const left = names.filter((name) => !Object.hasOwn(fields, name))
    return Object.keys(fields).flatMap((name): readonly MisspeltField[] => {
      if (names.includes(name)) return []
      // A documented name in the wrong object, such as the chat-app `status`, which belongs into `statuses`.
      const [elsewhere] = Object.keys(known).filter((place) => known[place]?.includes(name))
      const meant = elsewhere === undefined ? nearestByEdits(name, left) : name
      return meant === undefined ? [] : [{ name: pathOf(within, name), meant: pathOf(elsewhere ?? within, meant) }]
    })
  })
}

function pathOf(within: string, name: string): string {
  return within === '' ? name : `${within}.${name}`
}

/**
 * Throws an `OptionsError` if the fields are not an object, or for a field that looks misspelt, which would leave the default
 * value and let the test pass. Undocumented callbacks accept any field.
 */
export function checkFields(given: unknown, where: string, known: KnownFields = {}): asserts given is object {
  checkObject(given, where, 'fields')
  const { statuses }: { readonly statuses?: unknown } = given
  if ('statuses' in known && statuses !== undefined) checkObject(statuses, where, 'statuses')
  const [misspelt] = misspeltFields({ ...given }, known)
  if (misspelt !== undefined)
    throw new OptionsError(
      `${where}: ${misspelt.name} is not a field of this callback. Did you mean ${misspelt.meant}? If not, add it to the ` +
        'returned body.',
    )
}

function checkObject(given: unknown, where: string, what: string): asserts given is object {
  if (!isRecord(given)) throw new OptionsError(`${where}: ${what} is ${describe(given)}; expected an object.`)
}

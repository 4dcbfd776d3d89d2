/** The fields of the callbacks that the contract shows. A misspelt one would leave the default in a test that then passes. */
import { describe } from '../runtime/check-options.ts'
import { nearestByEdits } from '../runtime/did-you-mean.ts'
import { OptionsError } from '../public/errors.ts'

/** What builders take inside: whatever the service may add one day. */
export type Fields = Readonly<Record<string, unknown>>

/** Contract, service.md#sms-delivery-callback. One that is undefined is left out of the body. */
export interface SmsDeliveryFields {
  readonly project?: string | undefined
  readonly messageId?: string | undefined
  readonly channel?: string | undefined
  /** Carrier A: `success`, `network_failure`, ...; carrier B: what it says. */
  readonly status?: string | undefined
  /** A code of the service's table. */
  readonly statusCode?: string | number | undefined
  readonly network?: string | undefined
  readonly type?: string | undefined
  /** Unix seconds. */
  readonly timestamp?: number | undefined
  /** Carrier B’s reason of a failure. */
  readonly description?: string | undefined
  /** Carrier B’s reason of a failure, as a code. */
  readonly status_code?: string | number | undefined
  readonly authKey?: string | undefined
}

/** Contract, service.md#chat-app-delivery-callback. One that is undefined is left out of the body. */
export interface ChatAppFields {
  readonly project?: string | undefined
  readonly channel?: string | undefined
  /** The number that the project sends from. */
  readonly phone_number?: string | undefined
  readonly statuses?: ChatAppStatuses | undefined
  /** Unix seconds. */
  readonly timestamp?: number | undefined
  /** A code of the service's table. */
  readonly statusCode?: string | number | undefined
  readonly authKey?: string | undefined
}

/** The report of a chat-app callback. */
export interface ChatAppStatuses {
  readonly recipient?: string | undefined
  readonly message_id?: string | undefined
  /** `sent`, `delivered`, `read` or `failed`. */
  readonly status?: string | undefined
  readonly type?: string | undefined
  readonly conversation_id?: string | undefined
  /** Unix seconds, as text. */
  readonly expiration_timestamp?: string | undefined
  readonly category?: string | undefined
  /** Why it failed. */
  readonly error?: string | undefined
}

type Names<T> = Readonly<Record<keyof T, true>>

const SMS: Names<SmsDeliveryFields> = {
  project: true,
  messageId: true,
  channel: true,
  status: true,
  statusCode: true,
  network: true,
  type: true,
  timestamp: true,
  description: true,
  status_code: true,
  authKey: true,
}

const CHAT_APP: Names<ChatAppFields> = {
  project: true,
  channel: true,
  phone_number: true,
  statuses: true,
  timestamp: true,
  statusCode: true,
  authKey: true,
}

const STATUSES: Names<ChatAppStatuses> = {
  recipient: true,
  message_id: true,
  status: true,
  type: true,
  conversation_id: true,
  expiration_timestamp: true,
  category: true,
  error: true,
}

/** The names by where they stand, for whoever asks what is known. `Object.keys` of a constant gives its keys and no others. */
export const FIELD_NAMES = {
  sms: Object.keys(SMS),
  chatApp: Object.keys(CHAT_APP),
  statuses: Object.keys(STATUSES),
} as const

/** Throws an `OptionsError` for what looks like a misspelt field; other names that nobody documents are let through. */
export function checkSmsFields(fields: unknown, where: string): void {
  checkObject(fields, where)
  checkNames(fields, FIELD_NAMES.sms, where)
}

/** The same for a chat-app callback; `also` is what is taken beside its fields. */
export function checkChatAppFields(fields: unknown, where: string, also: readonly string[] = []): void {
  checkObject(fields, where)
  checkNames(fields, [...FIELD_NAMES.chatApp, ...also], where)
  if (!('statuses' in fields) || fields.statuses === undefined) return
  checkObject(fields.statuses, where, 'statuses')
  checkNames(fields.statuses, FIELD_NAMES.statuses, where, 'statuses.')
}

/** Throws an `OptionsError` where the fields are no object; of callbacks whose fields nobody documents no more is known. */
export function checkObject(given: unknown, where: string, what = 'fields'): asserts given is object {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new OptionsError(`${where}: ${what} is ${describe(given)}; expected an object.`)
}

function checkNames(fields: object, known: readonly string[], where: string, within = ''): void {
  const missing = known.filter((field) => !(field in fields))
  for (const name of Object.keys(fields)) {
    const near = known.includes(name) ? undefined : nearestByEdits(name, missing)
    if (near !== undefined)
      throw new OptionsError(
        `${where}: ${within}${name} is no field of this callback (did you mean ${within}${near}?); if it is meant so, add it ` +
          'to what this returns.',
      )
  }
}

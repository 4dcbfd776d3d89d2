/**
 * The requests, answers and callbacks of the sending service as schemas, from which `openapi.json` is made. Contract,
 * service.md#send-a-message, #events. Fields and types that the contract does not show stay open: objects admit further fields, words
 * are texts with examples, and a field without a type admits any value.
 */
import { z } from 'zod'
import type { chatAppDeliverySchema, smsDeliverySchema } from '../src/carriers/report-schemas.ts'
import { STATUS_CODES } from '../src/carriers/status-codes.ts'
import { VOCABULARIES } from '../src/carriers/vocabularies.ts'

const NAMED = z.registry<{ readonly id: string }>()

/** An entry of `components.schemas`, to which other schemas refer. */
function named<T extends z.ZodType>(id: string, description: string, schema: T): T {
  const described = schema.meta({ description })
  NAMED.add(described, { id })
  return described
}

function text(description: string, examples: readonly string[] = []) {
  return z.string().meta({ description, ...(examples.length > 0 && { examples: [...examples] }) })
}

function untyped(description: string) {
  return z.unknown().meta({ description: `${description} Type not shown.` })
}

/** Fields of a send in JSON, in a form, or in the query of a GET. Contract, service.md#send-request-fields. */
export const SEND_FIELDS = {
  project: text('Display name of the project. Case and white space count.', ['My Shop']),
  apiKey: text('API key of the project. Omit it if the header `Authorization` carries the key.').optional(),
  from: text('Sender ID.').optional(),
  to: z
    .string()
    .regex(/^\+?[0-9]+$/)
    .meta({ description: 'Number of the recipient in international format. Several recipients: not shown.' })
    .optional(),
  message: text('Text of the message.').optional(),
  channel: text('Name of the channel, `sms` for SMS. Names of the other channels: not shown.', ['sms']).optional(),
  type: text('Kind of send. `transactional` marks one-time passwords and alerts.', [
    'transactional',
    'bulk',
  ]).optional(),
  campaign: text('Free label of the send.').optional(),
}

named(
  'SendRequest',
  'A send. Only `project` is known to be required. Further fields, such as those of the other channels: not shown.',
  z.looseObject(SEND_FIELDS),
)

const IN_ANSWERS = STATUS_CODES.filter(({ stage }) => stage.startsWith('sync'))

/** Contract, service.md#recipient-entry. */
const recipientEntry = named(
  'RecipientEntry',
  'The outcome for one recipient, or for one part of its message. Entries of refused recipients: not shown.',
  z.looseObject({
    messageId: text('Id of the message. Its callbacks carry the same id.').optional(),
    to: text('Number of the recipient.'),
    status: text(
      'Word of the status code.',
      IN_ANSWERS.map(({ word }) => word),
    ),
    statusCode: z.union([z.string().regex(/^\d+$/), z.int()]).meta({
      description: IN_ANSWERS.map(({ code, meaning }) => `${code}: ${meaning}`).join(' '),
      examples: IN_ANSWERS.map(({ code }) => String(code)),
    }),
    messagePart: z.int().meta({ description: 'Number of the message part.' }).optional(),
    type: text('Kind of send.', ['bulk']),
  }),
)

const messages = z.looseObject({ messages: z.int().meta({ description: 'Number of messages.' }) })
const recipients = z.array(recipientEntry)

/** Contract, service.md#send-a-message. */
named(
  'SendAnswer',
  'The answer to an accepted send. A recipient may still be refused: see its code.',
  z.union([
    z.looseObject({ messageData: messages, recipients }).meta({ title: 'SMS, chat-app and premium' }),
    z.looseObject({ data: messages, recipients }).meta({ title: 'Airtime' }),
  ]),
)

/** Contract, service.md#authentication-errors. */
named('Unauthenticated', 'The request carries no API key.', z.looseObject({ message: z.literal('Unauthenticated.') }))
named('ProjectNotFound', 'No project has this name.', inWrapper(z.literal('Error. Project not found.')))

/** An error in the wrapper of its channel. */
function inWrapper(message: z.ZodType) {
  const content = z.looseObject({ message })
  return z.union([
    z.looseObject({ messageData: content }).meta({ title: 'SMS, chat-app and premium' }),
    z.looseObject({ data: content }).meta({ title: 'Airtime' }),
  ])
}

const reason = text('What is wrong.')

/** Contract, service.md#send-failures. */
named(
  'SendError',
  'The error envelopes. A channel uses several. The errors of the channels other than SMS: not shown.',
  z.union([
    ...inWrapper(reason).options,
    z.looseObject({ error: untyped('What is wrong.') }).meta({ title: 'Chat-app' }),
    z
      .looseObject({ MessageData: z.looseObject({ Error: untyped('What is wrong.') }) })
      .meta({ title: 'Chat-app, with a wrapper' }),
    z
      .looseObject({
        message: reason,
        errors: z.looseObject({}).meta({ description: 'A map. Its names and values: not shown.' }),
      })
      .meta({ title: 'Chat-app, with a map' }),
    z
      .looseObject({ status: untyped('Status.'), description: untyped('What is wrong.') })
      .meta({ title: 'Premium, on demand or by subscription' }),
    z
      .looseObject({ status: untyped('Status.'), errorMessage: untyped('What is wrong.') })
      .meta({ title: 'Airtime, without a wrapper' }),
  ]),
)

/** Contract, service.md#callback-authenticity: a callback may lack one of its two proofs. */
const authKey = text('The Auth Key of the project: the proof in the body.').optional()
const project = text('Display name of the project.')

const wordsOf = (speaker: keyof typeof VOCABULARIES): readonly string[] => [...VOCABULARIES[speaker].words.keys()]

/** Every field that the receiver reads, which the compiler checks. Contract, service.md#sms-delivery-callback. */
const smsDelivery = {
  project,
  messageId: text('Id of the message, as in the answer to the send.'),
  channel: text('Name of the channel.', ['sms']),
  status: text('Word of carrier A, or the word that carrier B sent. Carrier B uses further words: not shown.', [
    ...new Set([...wordsOf('carrierA'), ...wordsOf('carrierB')]),
  ]),
  network: text('Lowercase name of the carrier: not shown.'),
  type: text('Kind of report. `bulkDelivery` is that of a bulk send.', ['bulkDelivery']),
  timestamp: z.int().meta({ description: 'Unix seconds. Orders the reports of a message.' }),
  statusCode: untyped(
    'Numeric code. Codes 15 to 21 come with reports; the field is not in the table of this callback.',
  ).optional(),
  description: untyped('Carrier B may give the reason of `failed` here, or in `status_code`.').optional(),
  status_code: untyped('See `description`.').optional(),
  authKey,
} satisfies Fields<keyof typeof smsDeliverySchema.shape | 'authKey'>

named(
  'SmsDeliveryReport',
  'An SMS changed its state. The reports of airtime and premium messages: not shown.',
  z.looseObject(smsDelivery),
)

const ON_SUCCESS = 'Present after a successful change.'

/** The receiver also reads a time and a code, which the contract does not show. Contract, service.md#chat-app-delivery-callback. */
const chatAppDelivery = {
  project,
  channel: text('Lowercase name of the chat-app: not shown.'),
  phone_number: text('Number of the project that sent the message.'),
  statuses: z.looseObject({
    recipient: text('Number of the recipient.'),
    message_id: text('Id of the message, as in the answer to the send.'),
    status: text('New state. `read` requires read receipts; `failed` is permanent.', wordsOf('chatApp')),
    type: text('Kind of report.', ['status']),
    conversation_id: text(`Id of the conversation. ${ON_SUCCESS}`).optional(),
    expiration_timestamp: text(`Unix seconds as text. ${ON_SUCCESS}`).optional(),
    category: text(`Category of the conversation. ${ON_SUCCESS}`).optional(),
    error: text('Reason of the chat-app. Replaces the three fields before it after a failure.').optional(),
  } satisfies Fields<keyof typeof chatAppDeliverySchema.shape.statuses.shape>),
  authKey,
} satisfies Fields<Exclude<keyof typeof chatAppDeliverySchema.shape, 'timestamp' | 'statusCode'> | 'authKey'>

named(
  'ChatAppDeliveryReport',
  'A chat-app message changed its state. It carries no time. Its table lists no `authKey`, which every callback may carry.',
  z.looseObject(chatAppDelivery),
)

/** Contract, service.md#events, #premium-sms-callbacks. */
named('ReceivedMessage', 'Fields other than `authKey`: not shown.', z.looseObject({ authKey }))
named('Payment', 'Fields other than `authKey`: not shown.', z.looseObject({ authKey }))
named(
  'PremiumEvent',
  'The event types are `activate`, `deactivate`, `consent` and `delivery`. Fields other than `authKey`, even the one with the event type: not shown.',
  z.looseObject({ authKey }),
)

type Fields<Name extends string> = Readonly<Record<Name, z.ZodType>>

type JsonSchema = z.core.JSONSchema.BaseSchema

/** A JSON schema without what zod adds: the limits of its integers, and `{}` for `true`. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { override: simplify })
  return json
}

function simplify({ jsonSchema }: { readonly jsonSchema: JsonSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  const { additionalProperties } = jsonSchema
  if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length === 0)
    jsonSchema.additionalProperties = true
}

/** `components.schemas` of the document. */
export const SCHEMAS: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  Object.entries(z.toJSONSchema(NAMED, { uri: referenceTo, override: simplify }).schemas).map(
    ([name, { $schema: _, $id: _id, ...schema }]) => [name, schema],
  ),
)

/** The value of a `$ref`. */
export function referenceTo(name: string): string {
  return `#/components/schemas/${name}`
}

/**
 * Our choices where the service's documentation says "not shown". If the real behaviour becomes known, change only this file.
 */

/** Default names of the channels. The contract fixes only `sms`. */
export const CHANNELS = ['sms', 'chat-app', 'premium', 'premium-subscription', 'airtime'] as const
/** A channel of the send endpoint. */
export type Channel = (typeof CHANNELS)[number]

export const MAX_RECIPIENTS = 1_000
export const MAX_REQUEST_BYTES = 1_048_576
export const MAX_MESSAGE_CHARACTERS = 10_000

/** Digits in international format, with an optional plus. Anything else is `unsupported_number`. */
export const NUMBER_FORM = /^\+?\d{7,15}$/

/** HTTP status of a send without accepted recipients. */
export const NOTHING_ACCEPTED_STATUS = 400
/** The `status` field of error envelopes. */
export const REFUSAL_WORDS = { fields: 'invalid_request', other: 'refused' } as const
/** HTTP status of a send with an invalid field or an unreadable body. */
export const BAD_REQUEST_STATUS = 400

/** Texts of refusals that the contract does not show. */
export const TEXTS = {
  tooLarge: 'Error. The request is too large.',
  invalid: 'Error. Invalid request.',
  unsupported_number: 'Error. Number not supported.',
  volume_limit: 'Error. Volume limit exceeded.',
} as const

/** Cost of a message part in credits. */
export const CREDITS_A_PART = 1

/** Defaults of a project. */
export const PROJECT_DEFAULTS = {
  name: 'My Shop',
  balance: 1_000_000,
  volumeLimit: null,
  senderId: 'EMULATOR',
  phoneNumber: '999300009999',
  shortcode: '22384',
  enforceHttps: false,
  callbackUrls: {},
} as const

/** Contract, service.md#what-the-service-does: the `type` of one-time passwords. */
export const OTP_TYPE = 'transactional'

/** Default `type` of a send, and of its reports. The contract shows `bulkDelivery`. */
export const DEFAULT_TYPE = 'bulk'
export function reportType(sendType: string): string {
  return `${sendType}Delivery`
}

/** The conversation in a chat-app report of success. */
export const CONVERSATION = { category: 'utility', lifeSeconds: 86_400 } as const

/** The reason for a failure, if the outcome has none. */
export const REASONS = {
  chatApp: 'Message undeliverable.',
  carrierB: { description: 'Subscriber not reachable.', statusCode: '503' },
} as const

function number(value: number): string {
  return value.toLocaleString('en-US')
}

/** What the documentation does not show, and the emulator's behaviour. */
const CHOICES = {
  'Names of the channels other than `sms`':
    '`chat-app`, `premium` (on demand), `premium-subscription` and `airtime`, or those of the option `channels`. A send without `channel` is an SMS.',
  'Required fields of a send':
    '`to` and `message`; for airtime `to` and `amount`. All fields are text, except `amount` and `scheduledFor`, which may be numbers. A GET takes the same fields.',
  'Default `type` of a send': `\`${DEFAULT_TYPE}\`.`,
  'Sender ID of a project': `The option \`senderId\`, by default \`${PROJECT_DEFAULTS.senderId}\`. A \`from\` that is given is not compared with it.`,
  'Several recipients': `\`to\` is a list in JSON, repeated in a form or query, or separated by commas. At most ${number(MAX_RECIPIENTS)} per request.`,
  'Scheduled sends': '`scheduledFor`, in Unix seconds. A past time sends immediately.',
  'HTTP status of codes 12, 22 and 23':
    '200 if at least one recipient was accepted, otherwise 400 with the error envelope. Both have `recipients`.',
  'Refusals on channels other than SMS':
    'The table lists codes 12, 22 and 23 only for SMS. On other channels, an unsupported number, an insufficient balance or an exceeded volume limit refuses the whole send: 400 with the error envelope, without codes and `recipients`.',
  'Scheduled sends on channels other than SMS':
    'The table lists code 14 only for SMS. On other channels, `scheduledFor` is an invalid field.',
  '`status` in the error envelopes of premium and airtime':
    '`invalid_request` for invalid fields, otherwise `refused`, because the words of the codes belong to SMS.',
  'Forms of an error envelope':
    'Chat-app: `message` and `errors` for invalid fields, `MessageData.Error` for the balance, otherwise `error`. Airtime: `data.message` for the balance, otherwise `status` and `errorMessage`.',
  'Texts of codes 12 and 23': `\`${TEXTS.unsupported_number}\` and \`${TEXTS.volume_limit}\``,
  'Invalid fields': `400, and \`${TEXTS.invalid}\` with the first error, such as \`The to field is required.\` An unknown \`channel\` is an invalid field.`,
  'Unsupported numbers (12)': 'Anything but 7 to 15 digits, and the test number.',
  'A recipient with several refusals':
    'The number (12) precedes the balance (22), which precedes the volume limit (23).',
  'Entry of a refused recipient': 'It has a `messageId`, too, and `messagePart` 1.',
  'Price of a send': 'One credit per message part. Airtime costs its `amount`. A failed message is not refunded.',
  'Volume limit': 'Message parts per UTC day. Default: no limit.',
  'Message parts':
    'Each part has an entry in `recipients` with its number as `messagePart` and the `messageId` of the message, and its own report. A part holds 160 GSM characters or 70 others.',
  '`messages` of an answer': 'The number of accepted parts, not of recipients.',
  'Other places of `apiKey`':
    'None: credentials in the query of a POST are ignored. If a header and a field differ, the header counts. An `apiKey` that is empty or no text counts as none.',
  'A request with several errors': 'A missing key (401) precedes the project (404, 400), which precedes the fields.',
  'Limits of a request': `${number(MAX_REQUEST_BYTES)} bytes (413, \`${TEXTS.tooLarge}\`), and ${number(MAX_MESSAGE_CHARACTERS)} characters of message (400). Methods other than GET and POST get 405.`,
  '`type` of an SMS report': `That of the send and \`Delivery\`, such as \`${reportType(OTP_TYPE)}\`. The documentation shows \`${reportType(DEFAULT_TYPE)}\`.`,
  'SMS reports with codes 15 to 21':
    'The SMS delivery callback, with the code’s word as `status` and the code as text in `statusCode`.',
  'Code 13 on chat-app': 'Only for its test number, and reported as `queued` in `statuses.status`.',
  'Reason of carrier B’s `failed`': `\`description\` and \`status_code\`, by default \`${REASONS.carrierB.description}\` and \`${REASONS.carrierB.statusCode}\`. Its other words have both, too.`,
  'Conversation of a chat-app report': `\`conversation_id\` is one for each project and recipient, \`category\` is \`${CONVERSATION.category}\`, and \`expiration_timestamp\` is ${CONVERSATION.lifeSeconds / 3_600} hours after the report.`,
  'Reason of a chat-app failure': `That of the test number, otherwise \`${REASONS.chatApp}\``,
  'Priority queue of `transactional` sends':
    'Their first step takes the minimum of `network.delayMs`. That of other sends takes up to the maximum.',
  'Retries of `transactional` sends after transient failures':
    'Three, after 1, 2 and 4 seconds (`network.retries`, `network.retryDelayMs`). The last failure is reported.',
  'OTP log':
    'One entry for each `transactional` message to one recipient, refused ones included. Its state is the word of the answer, then that of the latest report, of any part.',
  'Times and shares of outcomes': 'The option `network`.',
  'Time for the answer to a callback, and redirects':
    'The option `callbackTimeoutMs`. A redirect is an answer like any other, and is not followed.',
  'Reports of airtime and premium sends':
    'Airtime: the SMS delivery callback with its own `channel`. Premium: a `delivery` on the subscription URL.',
  'Payload of a received message':
    '`project`, `id`, `channel`, `from`, `to`, `text` and `timestamp`. `to` is the shortcode, or the project’s chat-app number.',
  'Payload of a payment':
    '`project`, `id`, `type` (`push`, `c2b`, `paybill`), `amount`, `currency`, `phone`, `reference`, `status` (`completed`, `failed`) and `timestamp`. A failure has no reason.',
  'Payload of a premium event':
    '`project`, `event`, `phone`, `shortcode` and `timestamp`; `keyword`, except in the report of a send; `messageId` and `status` in a delivery report; `amount` and `currency` in a bill.',
  '`event` of a premium event':
    'The documented types; `billed`, the documentation’s word for a billed customer; and `renewal_reminder` as an undocumented word.',
  'authKey of callbacks whose documented fields omit it, such as the chat-app’s':
    'Present, with a signature: the documentation says that every callback has both. The option `proof` changes it, for all channels or for each.',
  'Payloads of the testing kit (`messaging-webhooks/testing`)':
    'Received message: `project`, `id`, `from`, `to` and `text`. Payment: `project`, `id`, `amount`, `currency` and `status`. Premium event: `project`, `event`, `phone` and `keyword`. Delivery reports are as here.',
  'Names of the carriers': '`carrier-a` and `carrier-b` (`network.names`).',
}

/** `CHOICES` as a list, for the reference. */
export const NOT_SHOWN: readonly { readonly what: string; readonly choice: string }[] = Object.entries(CHOICES).map(
  ([what, choice]) => ({ what, choice }),
)

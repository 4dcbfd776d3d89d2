/**
 * Our choices where the service's documentation says "not shown". If the real behaviour becomes known, change only this file.
 */

/** What the documentation does not show, and the emulator's behaviour. */
const CHOICES = {
  'Names of the channels but `sms`':
    '`chat-app`, `premium` (on demand), `premium-subscription`, `airtime`, or what `channels` calls them; a send without `channel` is SMS.',
  'Required fields of a send':
    '`to`, and `message` but for airtime, which takes `amount`; `from` defaults to the project’s sender ID.',
  'Several recipients':
    '`to` is a list in JSON, is repeated in a form or query, or has commas; at most 1,000 a request.',
  'A send for a future time': '`scheduledFor`, in Unix seconds; a time that has passed sends at once.',
  'HTTP status of codes 12, 22 and 23':
    '200 where at least one recipient was accepted, else 400 with the error envelope; `recipients` in both.',
  'Refusals on other channels than SMS':
    'The table lists 12, 22 and 23 for SMS alone, so there is no code and no `recipients` there: a send with a number that is not supported, or beyond the balance or the volume limit, is refused as a whole, 400 with the error envelope.',
  'Sends for a future time on other channels':
    'The table lists 14 for SMS alone, so `scheduledFor` is a bad field there.',
  '`status` of the error envelopes of premium and airtime':
    '`invalid_request` for bad fields, else `refused`: the words of the codes are those of SMS.',
  'Which form of an error envelope is used when':
    'Chat-app: `message` and `errors` for bad fields, `MessageData.Error` for the balance, else `error`. Airtime: `data.message` for the balance, else `status` and `errorMessage`.',
  'Numbers that are not supported (12)': 'What is not 7 to 15 digits, and the test number for it.',
  'What a send costs': 'One credit a message part; airtime costs its `amount`.',
  'The volume limit': 'Message parts a day, by UTC; no limit where none is set.',
  'Message parts':
    'Each part has an entry in `recipients` with its number as `messagePart`, the `messageId` of the message, and a report of its own. 160 GSM characters or 70 others are one part.',
  '`messages` of an answer': 'The number of accepted parts, not of recipients: a long text has several.',
  'The OTP log of a send that was refused':
    'An entry a recipient, with an id of its own and the word of the code; of a send that was refused as a whole, too.',
  'Where `apiKey` may stand beside the documented places':
    'Nowhere: a POST with credentials in its query has none. Where a header and a field differ, the header counts.',
  'A wrong request with several faults': 'No key (401) goes before the project (404, 400), then fields.',
  'Limits of a request':
    '1 MiB, 10,000 characters of message; a larger one is answered 413 or 400. Other methods get 405.',
  'Reports with a code of 15 to 21 by SMS':
    'The SMS delivery callback with the code’s word as `status`, and `statusCode` as text.',
  'Code 13 on chat-app': 'Given by its test number alone; it is reported as `statuses.status` `queued`.',
  'The reason of carrier B’s `failed`': '`description` and `status_code`.',
  'The priority queue of `transactional` sends':
    'Their first step takes the least of `network.delayMs`; that of others, anything up to the most.',
  'Retries of transient failures for `transactional`':
    'Three, after 1, 2 and 4 seconds (`network.retries`, `network.retryDelayMs`); the last failure is reported.',
  'Reports of airtime and premium sends':
    'Airtime: the SMS delivery callback with its own `channel`. Premium: a `delivery` on the subscription URL.',
  'Payload of a received message':
    '`project`, `id`, `channel`, `from`, `to`, `text`, `timestamp`; `to` is the shortcode, or the project’s chat-app number.',
  'Payload of a payment':
    '`project`, `id`, `type` (`push`, `c2b`, `paybill`), `amount`, `currency`, `phone`, `reference`, `status` (`completed`, `failed`), `timestamp`; no reason of a failure.',
  'Payload of a premium event':
    '`project`, `event`, `phone`, `shortcode`, `timestamp`, and `keyword` but in the report on a send; a delivery report also `messageId` and `status`, a bill `amount` and `currency`.',
  '`event` of a premium event':
    'The documented types; `billed`, as the documentation says of a customer, and `renewal_reminder` for a word that it does not have.',
  'Whether a callback has an authKey where its fields list none, as of the chat-app':
    'It has, and a signature: the service says that every callback carries both. `proof` is for one that does otherwise.',
  'Names of the carriers': '`carrier-a` and `carrier-b` (`network.names`).',
}

/** The same as a list, for the reference. */
export const NOT_SHOWN: readonly { readonly what: string; readonly choice: string }[] = Object.entries(CHOICES).map(
  ([what, choice]) => ({ what, choice }),
)

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
  unreadable: 'Error. The request could not be read.',
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

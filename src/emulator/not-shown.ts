/**
 * Every choice of ours where the service's documentation says "not shown". Nothing else in this folder decides such a
 * thing, so whoever learns what the service really does has one file to change.
 */
/** What was chosen, for the reference: what the documentation does not show, and what the emulator does. */
export const NOT_SHOWN: readonly { readonly what: string; readonly choice: string }[] = [
  {
    what: 'Names of the channels but `sms`',
    choice:
      '`chat-app`, `premium` (on demand), `premium-subscription`, `airtime`, or what `channels` calls them; a send without `channel` is SMS.',
  },
  {
    what: 'Required fields of a send',
    choice: '`to`, and `message` but for airtime, which takes `amount`; `from` defaults to the project’s sender ID.',
  },
  {
    what: 'Several recipients',
    choice: '`to` is a list in JSON, is repeated in a form or query, or has commas; at most 1,000 a request.',
  },
  {
    what: 'A send for a future time',
    choice: '`scheduledFor`, in Unix seconds; a time that has passed sends at once.',
  },
  {
    what: 'HTTP status of codes 12, 22 and 23',
    choice: '200 where at least one recipient was accepted, else 400 with the error envelope; `recipients` in both.',
  },
  {
    what: 'Refusals on other channels than SMS',
    choice:
      'The table lists 12, 22 and 23 for SMS alone, so there is no code and no `recipients` there: a send with a number that is not supported, or beyond the balance or the volume limit, is refused as a whole, 400 with the error envelope.',
  },
  {
    what: 'Sends for a future time on other channels',
    choice: 'The table lists 14 for SMS alone, so `scheduledFor` is a bad field there.',
  },
  {
    what: '`status` of the error envelopes of premium and airtime',
    choice: '`invalid_request` for bad fields, else `refused`: the words of the codes are those of SMS.',
  },
  {
    what: 'Which form of an error envelope is used when',
    choice:
      'Chat-app: `message` and `errors` for bad fields, `MessageData.Error` for the balance, else `error`. Airtime: `data.message` for the balance, else `status` and `errorMessage`.',
  },
  { what: 'Numbers that are not supported (12)', choice: 'What is not 7 to 15 digits, and the test number for it.' },
  { what: 'What a send costs', choice: 'One credit a message part; airtime costs its `amount`.' },
  { what: 'The volume limit', choice: 'Message parts a day, by UTC; no limit where none is set.' },
  {
    what: 'Message parts',
    choice:
      'Each part has an entry in `recipients` with its number as `messagePart`, the `messageId` of the message, and a report of its own. 160 GSM characters or 70 others are one part.',
  },
  {
    what: 'Where `apiKey` may stand beside the documented places',
    choice:
      'Nowhere: a POST with credentials in its query has none. Where a header and a field differ, the header counts.',
  },
  {
    what: 'A wrong request with several faults',
    choice: 'No key (401) goes before the project (404, 400), then fields.',
  },
  {
    what: 'Limits of a request',
    choice: '1 MiB, 10,000 characters of message; a larger one is answered 413 or 400. Other methods get 405.',
  },
  {
    what: 'Reports with a code of 15 to 21 by SMS',
    choice: 'The SMS delivery callback with the code’s word as `status`, and `statusCode` as text.',
  },
  {
    what: 'Code 13 on chat-app',
    choice: 'Given by its test number alone; it is reported as `statuses.status` `queued`.',
  },
  { what: 'The reason of carrier B’s `failed`', choice: '`description` and `status_code`.' },
  {
    what: 'The priority queue of `transactional` sends',
    choice: 'Their first step takes the least of `network.delayMs`; that of others, anything up to the most.',
  },
  {
    what: 'Retries of transient failures for `transactional`',
    choice:
      'Three, after 1, 2 and 4 seconds (`network.retries`, `network.retryDelayMs`); the last failure is reported.',
  },
  {
    what: 'Reports of airtime and premium sends',
    choice: 'Airtime: the SMS delivery callback with its own `channel`. Premium: a `delivery` on the subscription URL.',
  },
  {
    what: 'Payload of a received message',
    choice:
      '`project`, `id`, `channel`, `from`, `to`, `text`, `timestamp`; `to` is the shortcode, or the project’s chat-app number.',
  },
  {
    what: 'Payload of a payment',
    choice:
      '`project`, `id`, `type` (`push`, `c2b`, `paybill`), `amount`, `currency`, `phone`, `reference`, `status` (`completed`, `failed`), `timestamp`; no reason of a failure.',
  },
  {
    what: 'Payload of a premium event',
    choice:
      '`project`, `event`, `phone`, `shortcode`, `timestamp`, and `keyword` but in the report on a send; a delivery report also `messageId` and `status`, a bill `amount` and `currency`.',
  },
  {
    what: '`event` of a premium event',
    choice:
      'The documented types; `billed`, as the documentation says of a customer, and `renewal_reminder` for a word that it does not have.',
  },
  {
    what: 'Whether a callback has an authKey where its fields list none, as of the chat-app',
    choice:
      'It has, and a signature: the service says that every callback carries both. `proof` is for one that does otherwise.',
  },
  { what: 'Names of the carriers', choice: '`carrier-a` and `carrier-b` (`network.names`).' },
]

/** The channels, by the names that they have where the option `channels` gives no others. The contract gives `sms` alone. */
export const CHANNELS = ['sms', 'chat-app', 'premium', 'premium-subscription', 'airtime'] as const
/** A channel of the send endpoint. */
export type Channel = (typeof CHANNELS)[number]

export const MAX_RECIPIENTS = 1_000
export const MAX_REQUEST_BYTES = 1_048_576
export const MAX_MESSAGE_CHARACTERS = 10_000

/** Digits in international format, with or without a plus; anything else is `unsupported_number`. */
export const NUMBER_FORM = /^\+?\d{7,15}$/

/** The HTTP status of a send of which nothing was accepted. */
export const NOTHING_ACCEPTED_STATUS = 400
/** The `status` of an error envelope that has one. */
export const REFUSAL_WORDS = { fields: 'invalid_request', other: 'refused' } as const
/** That of a send with a bad field, or with a body that cannot be read. */
export const BAD_REQUEST_STATUS = 400

/** Texts of refusals that the contract does not give. */
export const TEXTS = {
  unreadable: 'Error. The request could not be read.',
  tooLarge: 'Error. The request is too large.',
  invalid: 'Error. Invalid request.',
  unsupported_number: 'Error. Number not supported.',
  volume_limit: 'Error. Volume limit exceeded.',
} as const

/** Credits of one message part. */
export const CREDITS_A_PART = 1

/** What a project is where its options do not say. */
export const PROJECT_DEFAULTS = {
  name: 'My Shop',
  balance: 1_000_000,
  senderId: 'EMULATOR',
  phoneNumber: '999300009999',
  shortcode: '22384',
} as const

/** The `type` of a send that names none, and of the report on a send. The contract shows `bulkDelivery`. */
export const DEFAULT_TYPE = 'bulk'
export function reportType(sendType: string): string {
  return `${sendType}Delivery`
}

/** The conversation that a chat-app report of success names. */
export const CONVERSATION = { category: 'utility', lifeSeconds: 86_400 } as const

/** Why the provider or carrier B refused, where the outcome does not say. */
export const REASONS = {
  chatApp: 'Message undeliverable.',
  carrierB: { description: 'Subscriber not reachable.', statusCode: '503' },
} as const

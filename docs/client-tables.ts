/** The tables about the client, as the comments of its types make them. */
import { membersOf } from './members.ts'
import type { GeneratedTable } from './tables.ts'

const PAGE = 'docs/reference/client.md'

/** Under which heading, what the first column is called, and whose members are its rows. */
const TABLES: readonly (readonly [
  under: string,
  first: string,
  ...types: (readonly [file: string, name: string])[],
])[] = [
  ['calls', 'Call', ['index', 'Client']],
  ['options', 'Option', ['options', 'clientOptions']],
  ['options', 'Of `retry`', ['options', 'clientRetry']],
  ['options', 'Of `channels`', ['options', 'clientChannels']],
  [
    'fields-of-a-send',
    'Field',
    ['message', 'channelField'],
    ['message', 'messageFields'],
    ['message', 'schedulableFields'],
  ],
  ['fields-of-a-send', 'Option of a send', ['options', 'sendOptions']],
  ['sending-again', 'Option of `resend`', ['resend', 'resendOptions']],
  ['answers', 'Of an answer', ['sent', 'Sent']],
  ['answers', 'Of a recipient', ['sent', 'RecipientFields'], ['sent', 'AcceptedRecipient']],
  ['errors', 'Of an error', ['send-error', 'SendError']],
  ['long-lists', 'Option of `sendAll`', ['options', 'sendAllOptions']],
  ['long-lists', 'Of the list', ['send-all', 'SentAll']],
  ['long-lists', 'Of an outcome', ['send-all', 'NumberOutcome']],
]

export const CLIENT_TABLES: readonly GeneratedTable[] = TABLES.map(([under, first, ...types]) => ({
  page: PAGE,
  under,
  header: [first, 'What'],
  rows: types.flatMap(([file, name]) => membersOf(`src/client/${file}.ts`, name)),
}))

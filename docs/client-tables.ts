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
  ['calls', 'Call', ['client', 'Client']],
  ['options', 'Option', ['options', 'ClientOptions']],
  ['options', 'Of `retry`', ['options', 'ClientRetryOptions']],
  ['options', 'Of `channels`', ['options', 'ClientChannels']],
  ['what-is-sent', 'Field', ['message', 'Message'], ['message', 'MessageFields'], ['message', 'SchedulableFields']],
  ['what-is-sent', 'Option of a send', ['send-options', 'SendOptions']],
  ['sends-that-are-written-down', 'Call', ['sender', 'Sender']],
  ['sends-that-are-written-down', 'Option of `sender`', ['sender', 'SenderOptions']],
  ['sends-that-are-written-down', 'Option of each of its sends', ['../intention', 'RecordOptions']],
  ['sending-again', 'Option of `resend`', ['resend', 'ResendOptions']],
  ['answers', 'Of an answer', ['sent', 'Sent']],
  ['answers', 'Of a recipient', ['sent', 'RecipientFields'], ['sent', 'AcceptedRecipient']],
  ['errors', 'Of an error', ['send-error', 'SendError']],
  ['long-lists', 'Option of `sendAll`', ['send-options', 'SendAllOptions']],
  ['long-lists', 'Of what `sendAll` returns', ['sent-all', 'SentAll']],
  ['long-lists', 'Count', ['sent-all', 'SendCounts']],
]

export const CLIENT_TABLES: readonly GeneratedTable[] = TABLES.map(([under, first, ...types]) => ({
  page: PAGE,
  under,
  header: [first, 'What'],
  rows: types.flatMap(([file, name]) => membersOf(`src/client/${file}.ts`, name)),
}))

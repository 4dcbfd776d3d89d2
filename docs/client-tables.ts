/** The tables about the client, as the comments of its types make them. */
import { summariesOf } from './members.ts'
import type { GeneratedTable } from './tables.ts'

const PAGE = 'docs/reference/client.md'

/** Under which heading, what the first column is called, and whose members are its rows. */
const TABLES: readonly (readonly [
  under: string,
  first: string,
  ...types: (readonly [file: string, name: string, group?: string])[],
])[] = [
  ['calls', 'Call', ['index', 'Client']],
  [
    'options',
    'Option',
    ['options', 'clientOptions'],
    ['options', 'clientRetry', 'retry'],
    ['options', 'clientChannels', 'channels'],
  ],
  [
    'fields-of-a-send',
    'Field',
    ['message', 'channelField'],
    ['message', 'messageFields'],
    ['message', 'schedulableFields'],
  ],
  ['sending-again', 'Option of `resend`', ['resend', 'resendOptions']],
  ['errors', 'Of an error', ['send-error', 'SendError']],
  ['long-lists', 'Option of `sendAll`', ['options', 'sendAllOptions']],
  ['long-lists', 'Of an outcome', ['send-all', 'NumberOutcome']],
]

export const CLIENT_TABLES: readonly GeneratedTable[] = TABLES.map(([under, first, ...types]) => ({
  page: PAGE,
  under,
  header: [first, 'What'],
  rows: types.flatMap(([file, name, group]) =>
    summariesOf(`src/client/${file}.ts`, name)
      // A group is its options.
      .filter(([member]) => !types.some(([, , other]) => member === `\`${String(other)}\``))
      .map(([member = '', what = '']) => [group === undefined ? member : member.replace('`', `\`${group}.`), what]),
  ),
}))

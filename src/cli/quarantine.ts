/** `quarantine`: lists the refused requests on a disk, and verifies them again. */
import { z } from 'zod'
import { createLocalFile } from '../local-file/local-file.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import { CARRIERS, type Carrier } from '../public/events.ts'
import { storedPages } from '../quarantine/stored.ts'
import { show } from '../quarantine/surface.ts'
import { createReceiver } from '../receiver/receiver.ts'
import {
  command,
  commandGroup,
  flag,
  JSON_LINE,
  JSON_LINES,
  PAIR_FLAGS,
  pairOf,
  repeatable,
  toggle,
  usage,
} from './command.ts'
import { refusedRows } from './refused.ts'
import { storeOf, STORE_FLAGS } from './stores.ts'
import { count, shown, type Terminal } from './terminal.ts'

const text = z.string().optional()
const FOLDER_FLAG = {
  folder: flag(
    '--folder <path>',
    'the spool or quarantine folder of the receivers (default: beside an SQLite file)',
    text,
  ),
}
/** The name of a network and its carrier, as in the option `networks`. */
const network = z.string().transform((given, context): readonly [string, Carrier] => {
  const at = given.lastIndexOf('=')
  const carrier = CARRIERS.find((known) => known === given.slice(at + 1))
  if (at > 0 && carrier !== undefined) return [given.slice(0, at), carrier]
  context.addIssue(`Expected name=carrier, with one of ${CARRIERS.join(', ')}.`)
  return z.NEVER
})

/** The longest that a receiver can be configured to keep a request. */
const LONGEST_HOURS = 720
const CLOSE_MS = 10_000

const list = command({
  flags: { ...STORE_FLAGS, ...FOLDER_FLAG, json: JSON_LINES },
  async run({ folder, json, ...flags }, terminal) {
    const from = folder ?? folderBeside((await storeOf(flags, terminal)).capabilities.spoolFolder)
    let [listed, unreadable] = [0, 0]
    for await (const page of pagesIn(from, terminal)) {
      listed += page.requests.length
      unreadable += page.unreadable
      if (json) for (const request of page.requests) terminal.printJson(show(request, { reveal: false, secrets: [] }))
      else terminal.printRows(refusedRows(page.requests, terminal.colours))
    }
    if (listed === 0) terminal.note('The quarantine is empty.')
    if (unreadable > 0) terminal.note(`${count(unreadable, 'request')} could not be read.`)
  },
})

/** A folder without a file is empty. */
async function* pagesIn(folder: string, terminal: Terminal): ReturnType<typeof storedPages> {
  const report = (error: MessagingWebhooksError): void => terminal.note(shown(error.message))
  const file = createLocalFile({ folder, option: '--folder', report })
  if (!(await file.exists())) return
  try {
    yield* storedPages(file)
  } finally {
    await file.close()
  }
}

const reverify = command({
  flags: {
    ...STORE_FLAGS,
    ...FOLDER_FLAG,
    ...PAIR_FLAGS,
    project: flag('--project <name>', 'the project of the pair, for a receiver with the option `projects`', text),
    networks: repeatable(
      '--network <name=carrier>',
      'the carrier of a network, as in the option `networks`; repeatable',
      network,
    ),
    clockOffset: flag(
      '--clock-offset <seconds>',
      'how far the clock of the receiver was ahead when the requests arrived',
      z.coerce.number('Expected a number of seconds.').default(0),
    ),
    dryRun: toggle('--dry-run', 'count what would be admitted, and change nothing'),
    json: JSON_LINE,
  },
  async run({ folder, signingSecret, authKey, project, networks, clockOffset, dryRun, json, ...flags }, terminal) {
    const pair = pairOf(signingSecret, authKey)
    if (pair === undefined)
      throw usage('No pair was given to verify requests with.', 'Set SIGNING_SECRET, AUTH_KEY or both.')
    const store = await storeOf(flags, terminal)
    const from = folder ?? folderBeside(store.capabilities.spoolFolder)
    const receiver = createReceiver({
      ...(project === undefined ? { credentials: pair } : { projects: { [project]: pair } }),
      networks: Object.fromEntries(networks ?? []),
      store,
      // The next receiver runs the handlers, and applies its own bounds to what remains.
      dispatch: false,
      spool: false,
      quarantine: { folder: from, maxBytes: Number.MAX_SAFE_INTEGER, maxAgeHours: LONGEST_HOURS },
      logger: false,
    })
    receiver.onError((error: MessagingWebhooksError) => terminal.note(shown(error.message)))
    try {
      const counts = await receiver.quarantine.reverify({ dryRun, clockOffsetSeconds: clockOffset })
      if (json) terminal.printJson({ ...counts, dryRun })
      else {
        const { examined, admitted, stillUnproved } = counts
        const done = dryRun ? 'Would be admitted' : 'Admitted'
        terminal.print(`${done}: ${admitted} of ${count(examined, 'request')}. Still refused: ${stillUnproved}.`)
      }
    } finally {
      await receiver.close({ deadlineMs: CLOSE_MS })
    }
  },
})

export const { define } = commandGroup(
  {
    list: { what: 'print refused requests in order of arrival, without their keys', ...list },
    reverify: { what: 'verify the requests again, and admit the proved ones', ...reverify },
  },
  'A receiver verifies its quarantine at each start, with its own options. `reverify` knows no `readReport` and no\n' +
    '`dedupeKey`: with these options, restart the receiver instead.',
)

function folderBeside(spoolFolder: string | undefined): string {
  if (spoolFolder !== undefined) return spoolFolder
  throw usage('No folder was given.', 'Pass --folder: `quarantine.folder` of the receiver, or its `spool`.')
}

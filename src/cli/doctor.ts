/** `doctor`: sends a signed probe to a callback URL and reports the problems that it reveals. */
import { z } from 'zod'
import { examine } from '../operations/doctor/doctor.ts'
import type { DoctorReport } from '../operations/doctor/findings.ts'
import { ANSWER_TIMEOUT_MS } from '../operations/doctor/own-receiver.ts'
import { CALLBACK_KINDS } from '../public/events.ts'
import { systemClock } from '../runtime/clock.ts'
import { preparePair } from '../verify/credentials.ts'
import { allowRemote, checkTarget } from './addresses.ts'
import { command, flag, oneOf, timeoutMs, toggle, usage, EXIT_CODES, PAIR_FLAGS, pairOf } from './command.ts'
import { count, shown, type Terminal } from './terminal.ts'

export const { define } = command({
  argument: ['<url>', 'the callback URL as registered at the service'],
  flags: {
    ...PAIR_FLAGS,
    kind: flag(
      '--kind <kind>',
      `the registered kind of callback: ${CALLBACK_KINDS.join(', ')}`,
      oneOf(CALLBACK_KINDS).optional(),
    ),
    project: flag(
      '--project <name>',
      'the project that the probe names; required if the app distinguishes projects',
      z.string().optional(),
    ),
    timeoutMs: flag('--timeout <ms>', 'timeout of the answer', timeoutMs.default(ANSWER_TIMEOUT_MS)),
    allowRemote,
    json: toggle('--json', 'print the findings as one line of JSON'),
  },
  notes: `Example:\n  SIGNING_SECRET=… AUTH_KEY=… messaging-webhooks doctor http://localhost:3000/webhooks/status --kind status`,
  async run(flags, terminal, [url = '']) {
    checkTarget(url, flags.allowRemote, 'The URL')
    const pair = pairOf(flags.signingSecret, flags.authKey)
    if (pair === undefined)
      throw usage(
        'No pair was given to sign the probe with.',
        'Set SIGNING_SECRET and AUTH_KEY, as the app has them, or pass files with --signing-secret-file and --auth-key-file.',
      )
    const diagnosis = await examine({
      url: new URL(url),
      kind: flags.kind,
      project: flags.project,
      pair: preparePair(pair, undefined, 'the pair'),
      timeoutMs: flags.timeoutMs,
      clock: systemClock(),
      own: undefined,
    })
    if (flags.json) terminal.printJson(diagnosis)
    else printDiagnosis(diagnosis, terminal)
    process.exitCode = EXIT_CODES[diagnosis.ok ? 'ok' : 'unwell'].code
  },
})

const SIGNS = { problem: '✗', warning: '!', ok: '✓' } as const

function printDiagnosis({ ok, url, findings }: DoctorReport, { print, colours }: Terminal): void {
  const { bold, green, red, yellow, dim } = colours
  const colour = { problem: red, warning: yellow, ok: green }
  print(bold(shown(url)))
  for (const found of findings) {
    print(`${colour[found.level](SIGNS[found.level])} ${shown(found.what)} ${dim(`(${found.code})`)}`)
    if (found.level !== 'ok') print(`  → ${shown(found.fix)}`)
  }
  const counts = (['problem', 'warning'] as const).map((level) =>
    count(findings.filter((found) => found.level === level).length, level),
  )
  print(ok ? green('No problems found.') : red(`${counts.join(', ')}.`))
}

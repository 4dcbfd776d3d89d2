/** `verify`: explains step by step why a signature holds or not. */
import { buffer } from 'node:stream/consumers'
import { z } from 'zod'
import { systemClock } from '../runtime/clock.ts'
import { command, flag, readBy, toggle, usage, wholeNumber } from './command.ts'
import { EXIT_CODES } from './exit-codes.ts'
import { neededSigningSecret, readNamedFile, secretFile } from './secrets.ts'
import { checkSignature } from './signature-steps.ts'

const DAY_SECONDS = 86_400

export const { define } = command({
  flags: {
    signingSecret: secretFile('SIGNING_SECRET'),
    header: flag('--header <value>', 'the value of X-Service-Signature', z.string()),
    body: flag('--body <path>', 'a file with the exact body; default: the standard input', z.string().optional()),
    at: flag(
      '--at <time>',
      'check its age at this time (Unix seconds, or a date); default: now',
      readBy('Expected Unix seconds, or a date such as 2026-01-31T12:00:00Z.', (text) =>
        /^\d{1,12}$/.test(text) ? Number(text) * 1_000 : Date.parse(text),
      ).optional(),
    ),
    toleranceSeconds: flag(
      '--tolerance <seconds>',
      'maximum difference between t and that time',
      wholeNumber(0, DAY_SECONDS).default(300),
    ),
    json: toggle('--json', 'print the verdict as one line of JSON'),
  },
  notes: `Example:\n  SIGNING_SECRET=… messaging-webhooks verify --header 't=…,v1=…' < body.json`,
  async run({ signingSecret, header, body, at, toleranceSeconds, json }, { print, printJson, colours }) {
    const secret = neededSigningSecret(signingSecret)
    const nowMs = at ?? systemClock().now()
    const verdict = checkSignature({ header, body: await readBody(body), secret, nowMs, toleranceSeconds })
    const { holds, steps, causes } = verdict
    process.exitCode = EXIT_CODES[holds ? 'ok' : 'notProved'].code
    if (json) {
      printJson(verdict)
      return
    }
    const { green, red, bold } = colours
    for (const { step, holds: isRight, text } of steps)
      print(`${isRight ? green('✓') : red('✗')} ${bold(step.padEnd(6))} ${text}`)
    for (const cause of causes) print(`→ ${cause}`)
    print(holds ? green('The signature holds.') : red('The signature does not hold.'))
  },
})

async function readBody(path: string | undefined): Promise<Buffer> {
  if (path !== undefined) return readNamedFile(path, 'The file of the body')
  if (process.stdin.isTTY)
    throw usage('No body was given.', 'Pass it on the standard input, `< body.json`, or with --body.')
  return buffer(process.stdin)
}

/** `verify`: explains step by step why a signature holds or not. */
import { buffer } from 'node:stream/consumers'
import { InvalidArgumentError, type Command } from 'commander'
import { systemClock } from '../runtime/clock.ts'
import { wholeNumber } from './arguments.ts'
import { CliError, EXIT_CODES } from './exit-codes.ts'
import { addSecretOptions, neededSecret, readNamedFile, SIGNING_SECRET } from './secrets.ts'
import { checkSignature, type Verdict } from './signature-steps.ts'
import type { Terminal } from './terminal.ts'

interface VerifyOptions {
  readonly header: string
  readonly body?: string
  readonly at?: number
  readonly tolerance: number
  readonly json?: true
}

const DAY_SECONDS = 86_400

export function define(command: Command, terminal: Terminal): void {
  addSecretOptions(command, SIGNING_SECRET)
    .requiredOption('--header <value>', 'the value of X-Service-Signature')
    .option('--body <path>', 'a file with the exact body; default: the standard input')
    .option('--at <time>', 'check its age at this time (Unix seconds, or a date); default: now', readTime)
    .option('--tolerance <seconds>', 'maximum difference between t and that time', wholeNumber(0, DAY_SECONDS), 300)
    .option('--json', 'print the verdict as one line of JSON')
    .addHelpText('after', `\nExample:\n  SIGNING_SECRET=… messaging-webhooks verify --header 't=…,v1=…' < body.json`)
    .action(async (options: VerifyOptions) => {
      const secret = neededSecret(command, SIGNING_SECRET, 'No signing secret was given.')
      const verdict = checkSignature({
        header: options.header,
        body: await readBody(options.body),
        secret,
        nowMs: options.at ?? systemClock().now(),
        toleranceSeconds: options.tolerance,
      })
      if (options.json) terminal.printJson(verdict)
      else printVerdict(verdict, terminal)
      process.exitCode = verdict.holds ? EXIT_CODES.ok.code : EXIT_CODES.notProved.code
    })
}

async function readBody(path: string | undefined): Promise<Buffer> {
  if (path !== undefined) return readNamedFile(path, 'The file of the body')
  if (process.stdin.isTTY)
    throw new CliError('usage', 'No body was given.', 'Pass it on the standard input, `< body.json`, or with --body.')
  return buffer(process.stdin)
}

function readTime(text: string): number {
  const ms = /^\d{1,12}$/.test(text) ? Number(text) * 1_000 : Date.parse(text)
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Expected Unix seconds, or a date such as 2026-01-31T12:00:00Z.')
  return ms
}

function printVerdict({ holds, steps, causes }: Verdict, { print, colours }: Terminal): void {
  const { green, red, bold } = colours
  for (const { step, holds: right, text } of steps)
    print(`${right ? green('✓') : red('✗')} ${bold(step.padEnd(6))} ${text}`)
  for (const cause of causes) print(`→ ${cause}`)
  print(holds ? green('The signature holds.') : red('The signature does not hold.'))
}

/** `doctor`: sends signed probes to a URL and reports problems on the way. */
import { Option, type Command } from 'commander'
import { preparePair, unknownField, type CredentialPair, type LivePair } from '../verify/pair.ts'
import { systemClock } from '../runtime/clock.ts'
import { examine } from '../operations/doctor/doctor.ts'
import type { DoctorReport, DoctorFinding } from '../operations/doctor/findings.ts'
import { ANSWER_TIMEOUT_MS } from '../operations/doctor/own-receiver.ts'
import { CALLBACK_KINDS, type CallbackKind } from '../public/events.ts'
import { checkTarget } from './addresses.ts'
import { LONGEST_TIMEOUT_MS, wholeNumber } from './arguments.ts'
import { CliError, EXIT_CODES } from './exit-codes.ts'
import { addSecretOptions, AUTH_KEY, OLD_AUTH_KEY, OLD_SIGNING_SECRET, readPair, SIGNING_SECRET } from './secrets.ts'
import { shown, type Terminal } from './terminal.ts'

interface DoctorCommandOptions {
  readonly kind?: CallbackKind
  readonly project?: string
  readonly timeout: number
  readonly keepAlive?: number
  readonly allowRemote?: true
  readonly json?: true
}

export function define(command: Command, terminal: Terminal): void {
  command.argument('<url>', 'the callback URL as registered at the service')
  addSecretOptions(command, SIGNING_SECRET, AUTH_KEY, OLD_SIGNING_SECRET, OLD_AUTH_KEY)
    .addOption(new Option('--kind <kind>', 'the registered kind of callback').choices(CALLBACK_KINDS))
    .option('--project <name>', 'the project that the probes name; required if the app distinguishes projects')
    .option('--timeout <ms>', 'timeout of an answer', wholeNumber(1, LONGEST_TIMEOUT_MS), ANSWER_TIMEOUT_MS)
    .option(
      '--keep-alive <ms>',
      'idle timeout of the proxy in front; one probe waits that long',
      wholeNumber(1, LONGEST_TIMEOUT_MS),
    )
    .option('--allow-remote', 'allow a URL of another machine')
    .option('--json', 'print the findings as one line of JSON')
    .addHelpText(
      'after',
      `\nExample:\n  SIGNING_SECRET=… AUTH_KEY=… messaging-webhooks doctor http://localhost:3000/webhooks/status --kind status`,
    )
    .action(async (url: string, options: DoctorCommandOptions) => {
      checkTarget(url, options.allowRemote ?? false, 'The URL')
      const pair = readPair(command, SIGNING_SECRET, AUTH_KEY)
      if (pair === undefined)
        throw new CliError(
          'usage',
          'No pair was given to sign probes with.',
          'Set SIGNING_SECRET and AUTH_KEY, as the app has them, or pass files with --signing-secret-file and --auth-key-file.',
        )
      const old = readPair(command, OLD_SIGNING_SECRET, OLD_AUTH_KEY)
      const diagnosis = await examine({
        url: new URL(url),
        kind: options.kind,
        project: options.project,
        pair: prepared(pair),
        oldPairs: old === undefined ? [] : [prepared(old)],
        timeoutMs: options.timeout,
        keepAliveMs: options.keepAlive,
        clock: systemClock(),
        own: undefined,
      })
      if (options.json) terminal.printJson(diagnosis)
      else printDiagnosis(diagnosis, terminal)
      process.exitCode = EXIT_CODES[diagnosis.ok ? 'ok' : 'unwell'].code
    })
}

function prepared(pair: CredentialPair): LivePair {
  return preparePair(pair, undefined, 'the pair', unknownField)
}

const SIGNS = { problem: '✗', warning: '!', ok: '✓', unknown: '?' } as const

function printDiagnosis({ ok, url, findings }: DoctorReport, { print, colours }: Terminal): void {
  const { bold, green, red, yellow, dim } = colours
  const colour = { problem: red, warning: yellow, ok: green, unknown: dim }
  print(bold(shown(url)))
  for (const found of findings) {
    print(`${colour[found.level](SIGNS[found.level])} ${shown(found.what)} ${dim(`(${found.code})`)}`)
    if (found.level !== 'ok') print(`  → ${shown(found.fix)}`)
  }
  print(ok ? green('No problems found.') : red(summaryOf(findings)))
}

function summaryOf(findings: readonly DoctorFinding[]): string {
  const count = (level: 'problem' | 'warning'): string => {
    const { length } = findings.filter((found) => found.level === level)
    return `${length} ${level}${length === 1 ? '' : 's'}`
  }
  return `${count('problem')}, ${count('warning')}.`
}

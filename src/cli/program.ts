/** The program of the command line. Loads only the requested command, so that help and usage errors are fast. */
import { Command, CommanderError } from 'commander'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import { readVersion } from '../public/version.ts'
import { COMMANDS } from './commands.ts'
import { readVariable, CliError, EXIT_CODES, secretHint } from './command.ts'
import { createTerminal, shown } from './terminal.ts'

const terminal = createTerminal()

async function run(argv: readonly string[]): Promise<void> {
  const program = new Command('messaging-webhooks')
    .description('Tools for the callbacks of a messaging service.')
    .version(readVersion())
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', `\nExit codes and environment variables: docs/reference/command-line.md.`)
  // `help trigger` concerns the same command as `trigger --help`.
  const wanted = argv.find((argument) => !argument.startsWith('-') && argument !== 'help')
  for (const [name, { what, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(what)
    if (name === wanted) (await load()).define(command, terminal)
  }
  for (const command of everyCommand(program)) quiet(command)
  if (argv.length === 0) return program.help({ error: true })
  await program.parseAsync(argv, { from: 'user' })
}

function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** Makes commander throw, so that its errors are printed like ours. */
function quiet(command: Command): void {
  command
    .exitOverride()
    .configureOutput({ outputError() {}, getErrHasColors: () => false, getOutHasColors: () => false })
}

/** What to print, and the exit code. */
function outcomeOf(error: unknown): Pick<CliError, 'exit' | 'hint'> & { readonly message?: string } {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return { exit: 'ok', hint: undefined }
    // Without a command, commander has already printed the help.
    if (error.code === 'commander.help') return { exit: 'usage', hint: undefined }
    return { exit: 'usage', ...mistakeOf(error.message) }
  }
  if (error instanceof MessagingWebhooksError) return outcomeOfOurs(error)
  // The error of a library may quote its input.
  const what = error instanceof Error ? error.name : 'unknown'
  return { exit: 'failed', message: `Unexpected error (${what}).`, hint: 'Set DEBUG=1 to print the stack.' }
}

function outcomeOfOurs(error: MessagingWebhooksError): ReturnType<typeof outcomeOf> {
  const { code, detail, message, cause } = error
  if (error instanceof OptionsError) return { exit: 'usage', message: shown(detail ?? message), hint: undefined }
  if (code === 'store_failed' || code === 'store_slow') {
    // The causes that shared stores report contain no credentials.
    const reasons = [detail, cause instanceof Error ? cause.message : undefined]
    const why = shown(reasons.filter((reason) => reason !== undefined).join(' '))
    return { exit: 'failed', message: `Cannot use the store. ${why}`, hint: 'Check the URL and the server.' }
  }
  if (code === 'peer_missing') {
    const [store, peer] = detail?.includes('mysql2') === true ? ['MySQL', 'mysql2'] : ['Postgres', 'pg']
    const what = `A ${store} store requires the package ${peer}, which is not installed.`
    return { exit: 'failed', message: what, hint: `Install it: npm install ${peer}` }
  }
  return { exit: code === 'store_unsupported' ? 'unsupported' : 'failed', message, hint: undefined }
}

/** Splits “error: unknown option '--cuont'\n(Did you mean --count?)” into message and hint. */
function mistakeOf(text: string): { readonly message: string; readonly hint: string } {
  const [first = '', second = ''] = text.split('\n')
  const command = process.argv.slice(2).find((argument) => Object.hasOwn(COMMANDS, argument))
  const help = `messaging-webhooks ${command === undefined ? '' : `${command} `}--help`
  // The value after “=” may be a secret.
  const message = first.replace(/^error: /, '').replace(/^(unknown option '[^'=]*)=.*$/, "$1'")
  const [, flag = ''] = /^unknown option '--([^']*)'$/.exec(message) ?? []
  const suggestion = secretHint(flag) ?? second.replaceAll(/^\(|\)$/g, '')
  return { message, hint: suggestion === '' ? `See ${help}` : `${suggestion} See ${help}` }
}

run(process.argv.slice(2)).catch((error: unknown) => {
  const { exit, message, hint } = outcomeOf(error)
  const { red, dim } = terminal.noteColours
  if (message !== undefined) terminal.note(`${red('error:')} ${message}`)
  if (hint !== undefined) terminal.note(dim(hint))
  if (exit === 'failed' && readVariable('DEBUG') !== undefined && error instanceof Error)
    // The stack without the message, which may quote data.
    terminal.note((error.stack ?? '').match(/^ {4}at .*$/gm)?.join('\n') ?? '')
  process.exitCode = EXIT_CODES[exit].code
})

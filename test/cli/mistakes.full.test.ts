/** Invalid usage: one line and a hint on the standard error, the exit code, and no secret. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EXIT_CODES, type ExitName } from '../../src/cli/command.ts'
import { ERRORS } from '../../src/public/error-table.ts'
import { ownFolder } from '../support/own-folder.ts'
import { KEYS, runCli, without } from './cli.ts'

/** Runs in a folder of its own with these files. Every secret in a row contains `hidden`. */
const FILES: Readonly<Record<string, string>> = {
  'broken.json': '{ "apiKey": "hidden" ',
  'option.json': '{ "project": [] }',
  'value.json': '{ "projects": [{ "name": "", "apiKey": "hidden" }] }',
  'other.db': 'not a database'.repeat(100),
  empty: '',
}

const HEADER = `--header t=1,v1=${'0'.repeat(64)}`
const TO = '--to http://localhost'
const { SIGNING_SECRET } = KEYS

const CLOSED = 'me:hidden@127.0.0.1:1'
/** After the warning about the password: a line and a hint. */
const UNREACHABLE = /^error: Cannot use the store\. .*ECONNREFUSED.*\n.+\n(?![^])/m

type Mistake = readonly [line: string, says: string | RegExp, env?: NodeJS.ProcessEnv, exit?: ExitName]

/** The command line, what the standard error contains, and the environment and exit if not `KEYS` and `usage`. */
const MISTAKES: readonly Mistake[] = [
  [
    'trigger --cuont 3',
    "error: unknown option '--cuont'\nDid you mean --count? See messaging-webhooks trigger --help\n",
  ],
  ['tigger', "error: unknown command 'tigger'\nDid you mean trigger? See messaging-webhooks --help\n"],
  [
    'trigger payment --count 0',
    "error: option '--count <number>' argument '0' is invalid. Expected a whole number from 1 to 1000000.\nSee messaging-webhooks trigger --help\n",
  ],
  [
    'listen --proof none',
    "error: option '--proof <policy>' argument 'none' is invalid. Allowed choices are either, signature, authKey, both.\nSee messaging-webhooks listen --help\n",
  ],
  ['events list --type payment --type none', "error: option '--type <type>' argument 'none' is invalid. Allowed"],
  ['verify', "error: required option '--header <value>' not specified\nSee messaging-webhooks verify --help\n"],
  ['dead-letters show', "error: missing required argument 'id'\nSee messaging-webhooks dead-letters --help\n"],
  [
    'listen here',
    "error: too many arguments for 'listen'. Expected 0 arguments but got 1.\nSee messaging-webhooks listen --help\n",
  ],

  ['dead-letters list', 'error: No store was given.\n', {}],
  ['dead-letters list --store mongodb://me:hidden@db', 'error: Unknown kind of store: “mongodb:”.\n'],
  ['dead-letters list --store none.db', 'error: The SQLite file does not exist.\n', {}, 'failed'],
  ['dead-letters list --store other.db', ERRORS.store_foreign[0], {}, 'failed'],
  ['dead-letters list --store redis://127.0.0.1:1 --schema a', 'error: --schema applies only to Postgres.'],
  ['dead-letters list --store postgres://127.0.0.1:1 --prefix a', 'error: --prefix applies only to MySQL and Redis.'],
  ['dead-letters list --store mysql://127.0.0.1:1/none --schema a', 'error: --schema applies only to Postgres.'],
  [
    'dead-letters list --store mysql://me:hidden@127.0.0.1:port',
    'uri is a string; expected mysql://user:password@host',
  ],
  ['dead-letters list --store redis://me:hidden@host:port', 'error: The URL of the store is invalid.'],
  [
    'dead-letters list --store redis://me:x@hidden#y@host',
    'error: The URL of the store is invalid.\nExpected redis://',
  ],
  ['dead-letters list --store postgres://me:x@hidden#y@host', 'connectionString is a string; expected postgres://'],
  ['dead-letters list --store "postgres://me:hidden@host"', 'error: The SQLite file does not exist.', {}, 'failed'],
  ['dead-letters list --store jdbc:postgresql://host?password=hidden', 'error: Unknown kind of store: “jdbc:”.'],
  ['dead-letters replay --store empty', 'error: No dead letter was given.\nPass ids, or --all.\n'],
  ['dead-letters discard a --all --store empty', 'error: Ids and --all cannot be combined.\nPass ids, or --all.\n'],

  ['migrate', 'error: No store was given.\n', {}],
  ['migrate --store redis://me:hidden@127.0.0.1', 'error: Only Postgres and MySQL stores have migrations'],
  ['migrate --store inbox.db', 'error: Only Postgres and MySQL stores have migrations'],
  ['migrate --store mysql://127.0.0.1:1/none --schema a', 'error: --schema applies only to Postgres.'],
  ['migrate --store postgres://127.0.0.1:1/none --prefix a', 'error: --prefix applies only to MySQL.'],
  ['migrate --store mysql://127.0.0.1:1/none --prefix=', 'error: migrateMysql: prefix is an empty string'],
  ['migrate --store mysql://me:hidden@127.0.0.1:port/none', 'error: migrateMysql: uri is a string; expected mysql://'],
  ['migrate --print --schema=', 'error: postgresMigrations: schema is an empty string'],
  ['migrate --store postgres://me:hid%zzden@127.0.0.1:port/none', 'connectionString is a string; expected postgres://'],
  ['migrate --store postgres://me:x@hidden#y@127.0.0.1/none', 'connectionString is a string; expected postgres://'],

  [`migrate --store postgres://${CLOSED}/none`, UNREACHABLE, {}, 'failed'],
  [`migrate --store mysql://${CLOSED}/none`, UNREACHABLE, {}, 'failed'],
  [`dead-letters list --store postgres://${CLOSED}/none`, UNREACHABLE, {}, 'failed'],
  [`dead-letters list --store mysql://${CLOSED}/none`, UNREACHABLE, {}, 'failed'],
  [`dead-letters list --store redis://${CLOSED}`, UNREACHABLE, without('redis'), 'failed'],
  [`dead-letters list --store redis://${CLOSED}/0`, UNREACHABLE, without('ioredis'), 'failed'],
  [`dead-letters list --store rediss://${CLOSED}`, UNREACHABLE, {}, 'failed'],
  [
    'migrate --store postgres://127.0.0.1/none',
    'error: A Postgres store requires the package pg, which is not installed.\nInstall it: npm install pg\n',
    without('pg'),
    'failed',
  ],
  [
    'migrate --store mysql://127.0.0.1/none',
    'error: A MySQL store requires the package mysql2, which is not installed.\nInstall it: npm install mysql2\n',
    without('mysql2/promise'),
    'failed',
  ],
  [
    'dead-letters list --store redis://127.0.0.1:1',
    'error: A Redis store requires the package redis or ioredis, and neither is installed.\nInstall one: npm install redis\n',
    without('redis', 'ioredis'),
    'failed',
  ],

  ['forget --store none.db', 'Expected exactly one of --message-id, --recipient and --before.'],
  ['forget --store none.db --recipient a --message-id b', 'Expected exactly one of'],
  ['forget --store none.db --before yesterday', 'Expected a date, or a time with its zone.'],
  ['forget --store none.db --before 2026-01-01 --project p', '--project requires --message-id or --recipient.'],

  ['doctor http://localhost:1/', 'No pair was given', {}],
  ['doctor ftp://localhost/', 'The URL is not an http or https URL'],
  ['doctor https://app.example/status', 'app.example is not this machine'],
  ['doctor http://localhost:1/ --kind nothing', 'status, received, payment, subscription'],
  ['doctor', 'url'],

  ['emulate --config none.json', 'error: The configuration cannot be read (ENOENT).', {}, 'failed'],
  ['emulate --config broken.json', 'error: The configuration is not a JSON object with a list of projects.'],
  ['emulate --config option.json', 'The configuration is invalid: Invalid option: project. Did you mean projects?'],
  ['emulate --config value.json', 'invalid: projects.0.name is an empty string; expected'],

  [
    'listen --port 0',
    'error: No key was given to verify callbacks.\nSet SIGNING_SECRET, AUTH_KEY or both, or pass files with --signing-secret-file and --auth-key-file.\n',
    {},
  ],

  [`trigger ${TO}`, 'error: No event was given.\n`trigger --list` prints all events.\n'],
  [`trigger read ${TO}`, 'error: There is no event read.\nDid you mean message.read?\n'],
  [`trigger recieved ${TO}`, 'error: There is no event recieved.\nDid you mean received?\n'],
  ['trigger payment', 'error: No receiver was given.\nPass its URL with --to.\n'],
  [`trigger payment ${TO}`, 'error: No signing secret was given.\n', {}],
  [
    `trigger payment ${TO} --set authKey=hidden`,
    'error: --set cannot set the authKey.\nSet AUTH_KEY, or pass a file with --auth-key-file.\n',
  ],
  [
    `trigger payment ${TO} --fault noSignature=0.5`,
    'error: The fault noSignature requires an Auth Key as the only proof, and none was given.\n',
    { SIGNING_SECRET },
  ],

  [
    `verify ${HEADER} --signing-secret hidden`,
    "error: unknown option '--signing-secret'\nOther users can see arguments. Set SIGNING_SECRET, or pass a file with --signing-secret-file. See messaging-webhooks verify --help\n",
  ],
  [
    `verify ${HEADER} --signing-secret=hidden`,
    "error: unknown option '--signing-secret'\nOther users can see arguments.",
  ],
  [`verify ${HEADER}`, 'error: No signing secret was given.', {}],
  [`verify ${HEADER} --signing-secret-file empty`, 'error: The signing secret is empty.\nCheck empty.'],
  [
    `verify ${HEADER} --signing-secret-file none`,
    'error: The file of the signing secret cannot be read (ENOENT).',
    {},
    'failed',
  ],
  [`verify ${HEADER} --body none`, 'error: The file of the body cannot be read (ENOENT).', KEYS, 'failed'],
  [`verify ${HEADER} --at noon`, 'Expected Unix seconds, or a date'],
]

const rows = MISTAKES.map(([line, says, env = KEYS, exit = 'usage']) => ({ line, says, env, exit }))

test.each(rows)('$line', { timeout: 120_000 }, async ({ line, says, env, exit }) => {
  const cwd = ownFolder()
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(cwd, name), text)
  const { code, stdout, stderr } = await runCli(line.split(' '), env, '{}', cwd)
  if (typeof says === 'string' && says.endsWith('--help\n')) expect(stderr).toBe(says)
  else expect(stderr).toMatch(says)
  expect({ code, stdout }).toEqual({ code: EXIT_CODES[exit].code, stdout: '' })
  expect(stderr).not.toContain('hid')
  // No command creates a store.
  expect(existsSync(join(cwd, 'none.db'))).toBe(false)
})

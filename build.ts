/**
 * `npm run build`: makes `dist` from `src`, and nothing where it is made already. What is there is compared by its content with
 * what was made: so nothing in `dist` is ever stale, left behind by a file that is gone, or changed by somebody else.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'

const ROOT = import.meta.dirname
/** In `dist`, so that it goes with it. It is not packed. */
const STAMP = 'dist/.built.json'
/** All that decides what is made; the lock file stands for the compiler. */
const INPUTS = [
  'src/**/*',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.page.json',
  'package.json',
  'package-lock.json',
  'build.ts',
]
/** What a browser runs; it is compiled by a configuration of its own. */
const PAGE = 'inspector/page'

/** One digest of all these files, with their names. */
function digestOf(patterns: readonly string[]): string {
  const hash = createHash('sha256')
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort()
  for (const path of paths) {
    const file = join(ROOT, path)
    if (!statSync(file).isFile()) continue
    const content = readFileSync(file)
    hash.update(`${path}\n${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

/** `dist/**` leaves the stamp out, whose name begins with a dot. */
function digests(): string {
  return JSON.stringify({ inputs: digestOf(INPUTS), outputs: digestOf(['dist/**/*']) })
}

function isBuilt(): boolean {
  const stamp = join(ROOT, STAMP)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === digests()
}

async function build(): Promise<number> {
  console.error('Building dist, which takes some seconds; it is left as it is until something in src changes.')
  rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
  if (!compile('tsconfig.build.json')) return 1
  publishVectors()
  if (!(await publishPage())) return 1
  // npm does so where it installs the package; here `npx messaging-webhooks` runs it from where it is.
  const command = join(ROOT, 'dist/cli/main.js')
  if (existsSync(command)) chmodSync(command, 0o755)
  writeFileSync(join(ROOT, STAMP), digests())
  return 0
}

function compile(project: string): boolean {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  return spawnSync(process.execPath, [tsc, '-p', project], { cwd: ROOT, stdio: 'inherit' }).status === 0
}

/** The inspector's page: each module by itself, without what only its readers need; its markup and its style. */
async function publishPage(): Promise<boolean> {
  const paths = globSync(`src/${PAGE}/*.{html,css,svg}`, { cwd: ROOT })
  if (paths.length === 0) return true
  if (!compile('tsconfig.page.json')) return false
  const folder = join(ROOT, 'dist', PAGE)
  const { minifySync } = await import('vite')
  for (const name of globSync('*.js', { cwd: folder })) {
    const { code, errors } = minifySync(name, readFileSync(join(folder, name), 'utf8'), { module: true })
    if (errors.length > 0) return false
    writeFileSync(join(folder, name), `${code}\n`)
  }
  for (const path of paths) {
    const text = readFileSync(join(ROOT, path), 'utf8').replace(/^ +/gm, '')
    // No selector and no text of the style has a space behind a colon or a comma, or before a brace.
    const published = path.endsWith('.css')
      ? text
          .replace(/([:,]) | (?=\{)/g, '$1')
          .replace(/(?<=[{},;])\n+/g, '')
          .replace(/;(?=\})|(?<![\d.])0(?=\.\d)/g, '')
      : text
    writeFileSync(join(folder, basename(path)), published)
  }
  return true
}

/** Each file of vectors as it is written, which the compiler would not leave it, and all of them in one. */
function publishVectors(): void {
  const paths = globSync('src/vectors/*.json', { cwd: ROOT }).sort()
  if (paths.length === 0) return
  const all: Record<string, unknown> = {}
  for (const path of paths) {
    copyFileSync(join(ROOT, path), join(ROOT, 'dist/vectors', basename(path)))
    const file: unknown = JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
    if (!isFamily(file)) continue
    all['$schema'] = file.$schema
    all['version'] = file.version
    all[file.family] = file.vectors
  }
  writeFileSync(join(ROOT, 'dist/vectors/index.json'), `${JSON.stringify(all)}\n`)
}

/** `schema.json` is none. */
function isFamily(
  file: unknown,
): file is Readonly<Record<'$schema' | 'version' | 'vectors', unknown>> & { family: string } {
  return typeof file === 'object' && file !== null && 'family' in file
}

if (!isBuilt()) process.exitCode = await build()

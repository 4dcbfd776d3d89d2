/** `npm run build`, in a small project of its own: the output is complete and current, and up-to-date output is not rebuilt. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProgram } from '../support/program.ts'
import { ownFolder } from '../support/own-folder.ts'

/** A build takes some seconds of two cores, and other tests run beside it. */
const TIMEOUT = { timeout: 300_000 }

const MANIFEST = {
  type: 'module',
  exports: {
    '.': {
      types: './dist/one.d.ts',
      require: { types: './dist/cjs/one.d.cts', default: './dist/cjs/one.cjs' },
      default: './dist/one.js',
    },
  },
}

function newProject() {
  const folder = ownFolder()
  for (const file of ['build.ts', 'tsconfig.json', 'tsconfig.build.json', 'tsconfig.page.json'])
    cpSync(file, join(folder, file))
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, 'src'))
  const at = (path: string): string => join(folder, path)
  const write = (path: string, text: string): void => writeFileSync(at(path), text)
  write('package.json', JSON.stringify(MANIFEST))
  write('src/one.ts', 'export const one = 1\n')
  write('src/two.ts', 'export const two = 2\n')
  const build = () => runProgram(process.execPath, [at('build.ts')])
  return { at, write, build, read: (path: string): string => readFileSync(at(path), 'utf8') }
}

test('builds changes with a message, and is silent without changes', TIMEOUT, async () => {
  const { at, write, build, read } = newProject()
  expect(await build()).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^Building dist, /) as string,
  })
  const made = statSync(at('dist/one.js')).mtimeMs
  expect(await build()).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(statSync(at('dist/one.js')).mtimeMs).toBe(made)
  write('src/one.ts', 'export const one = 11\n')
  expect((await build()).stderr).toContain('Building dist')
  expect(read('dist/one.js')).toContain('one = 11')
  expect(read('dist/cjs/one.cjs')).toContain('exports.one')
  expect(read('dist/cjs/one.d.cts')).toContain('export declare const one')
})

test('removes the output of a deleted file, and repairs changed or removed files in dist', TIMEOUT, async () => {
  const { at, write, build, read } = newProject()
  await build()
  rmSync(at('src/two.ts'))
  await build()
  expect(existsSync(at('dist/two.js'))).toBe(false)
  // Each of these changes alone triggers a build.
  for (const change of [
    () => write('dist/one.js', 'export const one = "stale"\n'),
    () => rmSync(at('dist/one.d.ts')),
    () => write('dist/three.js', ''),
  ]) {
    change()
    expect((await build()).stderr).toContain('Building dist')
    expect(read('dist/one.js')).toContain('one = 1')
    expect([existsSync(at('dist/three.js')), existsSync(at('dist/one.d.ts'))]).toEqual([false, true])
  }
})

test('fails each time while the sources do not compile, and builds once they do', TIMEOUT, async () => {
  const { write, build, read } = newProject()
  write('src/one.ts', 'export const one: string = 1\n')
  for (let time = 0; time < 2; time += 1) {
    const { code, stdout } = await build()
    expect(code).toBe(1)
    expect(stdout).toContain('TS2322')
  }
  write('src/one.ts', 'export const one = "1"\n')
  expect((await build()).code).toBe(0)
  expect(read('dist/one.js')).toContain('one = "1"')
})

test('checks browser code for the browser, and bundles it into one small file', TIMEOUT, async () => {
  const { at, write, build, read } = newProject()
  mkdirSync(at('src/inspector/page'), { recursive: true })
  write('src/inspector/page/one.ts', '/** Why. */\nexport const title: string = document.title\n')
  write('src/inspector/page/main.ts', "import { title } from './one.ts'\nconsole.log(title)\n")
  write('src/inspector/page/style.css', 'p {\n  margin: 0px;\n}\n')
  write('src/inspector/page/icon.svg', '<svg/>')
  write('src/inspector/page/index.html', '<p>\n  one\n</p>\n')
  expect((await build()).code).toBe(0)
  expect(read('dist/inspector/page/main.js').trim()).toMatch(/^(?!.*import).*document\.title.{0,20}$/)
  expect(read('dist/inspector/page/style.css').trim()).toBe('p{margin:0}')
  expect(read('dist/inspector/page/index.html')).toBe('<p>\none\n</p>\n')
  // The bundle includes the licence of the bundled library.
  expect(read('dist/inspector/licences.txt')).toContain('preact 11.')
  write('src/inspector/page/one.ts', 'export const wrong: number = document.title\n')
  expect((await build()).code).toBe(1)
})

/** `npm run bench`: runs one or more benchmark programs and prints their results. */
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { CONTENDERS } from './contenders/table.ts'
import { PINNING } from './processes/pinned.ts'
import { isProgram, PROGRAMS, type ProgramName } from './programs/table.ts'
import { textOf } from './report/report.ts'
import { svgOf } from './report/svg.ts'
import { optionsHelp, readSettings } from './settings.ts'

const DEFAULT: ProgramName = 'peers'

function help(): string {
  const list = (entries: readonly (readonly [string, string])[]): string =>
    entries.map(([name, what]) => `  ${name}`.padEnd(22) + what).join('\n')
  return [
    `Usage: npm run bench -- [program …] [options]      (default: ${DEFAULT}; “all” for every program)`,
    '\nPrograms:',
    list(Object.entries(PROGRAMS).map(([name, { what }]) => [name, what] as const)),
    '\nOptions:',
    optionsHelp(),
    '\nContenders:',
    list(Object.entries(CONTENDERS).map(([name, { label }]) => [name, label] as const)),
    '\nOnly ratios of one run mean anything: single figures swing with the machine.',
  ].join('\n')
}

async function main(args: readonly string[]): Promise<void> {
  const read = readSettings(args)
  if (read === undefined) {
    console.log(help())
    return
  }
  const { settings } = read
  const asked = read.programs.length === 0 ? [DEFAULT] : read.programs
  const names = (asked.includes('all') ? Object.keys(PROGRAMS).filter((name) => name !== 'against') : asked).map(
    (name): ProgramName => {
      if (isProgram(name)) return name
      throw new Error(`There is no program “${name}”. Use one of: ${Object.keys(PROGRAMS).join(', ')}, all.`)
    },
  )
  const machine = `Node ${process.version}, ${cpus()[0]?.model ?? 'an unknown processor'}, ${cpus().length} cores; ${PINNING}`
  console.log(`${machine}\n`)
  const programs: Record<string, unknown> = {}
  for (const name of names) {
    const report = await PROGRAMS[name].run(settings)
    console.log(textOf(report))
    programs[name] = report.data
    if (report.chart !== undefined && settings.svg !== undefined) writeFileSync(settings.svg, svgOf(report.chart))
    if (settings.json !== undefined)
      writeFileSync(settings.json, `${JSON.stringify({ machine, settings, programs }, undefined, 1)}\n`)
  }
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

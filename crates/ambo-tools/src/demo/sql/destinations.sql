select p.name as airport, f.origin, count(*) as flights, round(avg(f.arr_delay), 1) as mean_delay
from flights f join airports p on p.faa = f.dest
group by p.name, f.origin having count(*) >= 1000
order by mean_delay desc, airport, origin limit 6

select p.manufacturer, count(distinct f.tailnum) as planes, count(*) as flights, sum(f.distance) as miles
from flights f join planes p on p.tailnum = f.tailnum
group by p.manufacturer order by flights desc, manufacturer limit 6
